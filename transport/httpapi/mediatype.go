package httpapi

import "github.com/ringraft/ringraft/internal/media"

// mediaType returns the media type of the request's body, "" for plain bytes.
func (c *call) mediaType() (string, *problem) {
	text := c.request.Header.Get("Content-Type")
	if text == "" || text == media.Bytes {
		return "", nil
	}
	if err := media.Check(text); err != nil {
		return "", badRequest("Content-Type", "%s", err.Message)
	}
	return text, nil
}
