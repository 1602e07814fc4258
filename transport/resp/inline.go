package resp

import "strconv"

// splitArgs splits a line into words, as redis-cli does. In double quotes \n, \r, \t,
// \b, \a and \xHH stand for the byte they name, and a backslash takes any other byte as
// it is; in single quotes only \' does. ok is false if a quote is not closed, or is not
// followed by a space.
func splitArgs(line []byte) (args [][]byte, ok bool) {
	for {
		for len(line) > 0 && isSpace(line[0]) {
			line = line[1:]
		}
		if len(line) == 0 {
			return args, true
		}
		var word []byte
		if word, line, ok = splitWord(line); !ok {
			return nil, false
		}
		args = append(args, word)
	}
}

// splitWord takes the first word off a line that starts with one.
func splitWord(line []byte) (word, rest []byte, ok bool) {
	word = []byte{}
	for len(line) > 0 && !isSpace(line[0]) {
		switch line[0] {
		case '"', '\'':
			var quoted []byte
			if quoted, line, ok = unquote(line[0], line[1:]); !ok || len(line) > 0 && !isSpace(line[0]) {
				return nil, nil, false
			}
			word = append(word, quoted...)
		default:
			word = append(word, line[0])
			line = line[1:]
		}
	}
	return word, line, true
}

// unquote returns what stands before the closing quote, and what behind it.
func unquote(quote byte, line []byte) (word, rest []byte, ok bool) {
	for len(line) > 0 {
		switch {
		case line[0] == quote:
			return word, line[1:], true
		case line[0] == '\\' && quote == '"' && len(line) >= 4 && line[1] == 'x' && isHex(line[2]) && isHex(line[3]):
			b, _ := strconv.ParseUint(string(line[2:4]), 16, 8) // two hexadecimal digits
			word, line = append(word, byte(b)), line[4:]
		case line[0] == '\\' && quote == '"' && len(line) >= 2:
			word, line = append(word, escaped(line[1])), line[2:]
		case line[0] == '\\' && len(line) >= 2 && line[1] == '\'':
			word, line = append(word, '\''), line[2:]
		default:
			word, line = append(word, line[0]), line[1:]
		}
	}
	return nil, nil, false
}

func escaped(b byte) byte {
	switch b {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return b
}

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
