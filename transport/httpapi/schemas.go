package httpapi

// schemas are the JSON documents of the front, as OpenAPI has them. Tests compare them
// with the documents' types.
func schemas() object {
	return object{
		"Document":    object{"type": "object"},
		"Set":         fields(valueFields(), lifeFields()),
		"Value":       fields(valueFields()),
		"Version":     fields(object{"version": number()}),
		"Keys":        fields(object{"keys": list(text("")), "keys_base64": list(bytes64())}),
		"Items":       fields(object{"items": list(fields(itemFields()))}),
		"Pairs":       fields(object{"items": list(fields(keyFields(), valueFields(), lifeFields()))}),
		"Versions":    fields(object{"items": list(fields(writtenFields()))}),
		"Deleted":     fields(object{"deleted": number(), "items": list(fields(writtenFields()))}),
		"Page":        fields(object{"items": list(fields(keyFields(), valueFields(), object{"version": number(), "ttl_ms": number()})), "next": text("the cursor of the next page; missing at the end")}),
		"Addition":    fields(additionFields()),
		"Number":      fields(object{"number": number(), "version": number()}),
		"Transaction": fields(object{"if": list(fields(compareFields())), "then": list(reference("Operation")), "else": list(reference("Operation"))}),
		"Operation": fields(object{
			"set": fields(keyFields(), valueFields(), lifeFields()), "add": fields(keyFields(), additionFields()),
			"expire": fields(keyFields(), object{"ttl": text("a time, or never")}),
			"delete": fields(keyFields()), "get": fields(keyFields()),
		}),
		"Outcome": fields(object{"met": flag(), "results": list(fields(itemFields(), object{"number": number()})), "standing": list(fields(itemFields()))}),
		"Problem": fields(object{"type": text("urn:ringraft:problem: and a word"), "title": text(""), "status": number(), "detail": text(""), "field": text("at fault")}),
	}
}

func keyFields() object {
	return object{"key": text("if it is UTF-8"), "key_base64": bytes64()}
}

func valueFields() object {
	return object{"value": text("if it is UTF-8"), "value_base64": bytes64()}
}

func lifeFields() object {
	return object{"ttl": text("as 30s or 1h30m, in whole milliseconds; without it for ever"), "keep_ttl": flag(), "protect": flag()}
}

func itemFields() object {
	return merge(keyFields(), valueFields(), object{"found": flag(), "version": number(), "ttl_ms": number()})
}

func writtenFields() object {
	return merge(keyFields(), object{"version": number(), "found": flag()})
}

func additionFields() object {
	return object{"delta": number(), "at_least": number(), "at_most": number(), "clamp": flag(), "ttl": text("as 30s")}
}

func compareFields() object {
	return merge(keyFields(), valueFields(), object{"absent": flag(), "present": flag(), "version": number(), "show": flag()})
}

// fields is an object of these properties, and no others.
func fields(properties ...object) object {
	return object{"type": "object", "properties": merge(properties...), "additionalProperties": false}
}

func merge(all ...object) object {
	merged := object{}
	for _, o := range all {
		for name, schema := range o {
			merged[name] = schema
		}
	}
	return merged
}

func text(doc string) object {
	if doc == "" {
		return object{"type": "string"}
	}
	return object{"type": "string", "description": doc}
}

func bytes64() object          { return object{"type": "string", "contentEncoding": "base64"} }
func number() object           { return object{"type": "integer", "format": "int64"} }
func flag() object             { return object{"type": "boolean"} }
func list(items object) object { return object{"type": "array", "items": items} }
