// SPDX-License-Identifier: Apache-2.0

// Avro's single-object encoding over goavro: C3 01, the 8 bytes of the schema's fingerprint, the Avro
// binary. goavro's own has another fingerprint: the canonical form that it makes keeps logical types
// and leaves names of enums without their namespace.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/linkedin/goavro"
)

type schema struct {
	header []byte
	codec  *goavro.Codec
}

func readSchema(folder, name string) (*schema, error) {
	text, err := os.ReadFile(filepath.Join(folder, name+".avsc"))
	if err != nil {
		return nil, err
	}
	var parsed interface{}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	codec, err := goavro.NewCodec(string(text))
	if err != nil {
		return nil, err
	}
	header := binary.LittleEndian.AppendUint64([]byte{0xc3, 1}, fingerprint(canonical(parsed, "")))
	return &schema{header, codec}, nil
}

func (s *schema) encode(value record) ([]byte, error) {
	return s.codec.BinaryFromNative(append([]byte(nil), s.header...), value)
}

func (s *schema) decode(value []byte) (record, error) {
	if !bytes.HasPrefix(value, s.header) {
		return nil, fmt.Errorf("a record has another schema: take the files of the schedulers' version")
	}
	native, _, err := s.codec.NativeFromBinary(value[len(s.header):])
	if err != nil {
		return nil, err
	}
	return native.(record), nil
}

var primitive = map[string]bool{"null": true, "boolean": true, "int": true, "long": true,
	"float": true, "double": true, "bytes": true, "string": true}

func fullName(name, namespace string) string {
	if primitive[name] || namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// canonical gives the Parsing Canonical Form of a schema.
func canonical(node interface{}, namespace string) string {
	switch node := node.(type) {
	case string:
		return `"` + fullName(node, namespace) + `"`
	case []interface{}:
		branches := make([]string, len(node))
		for i, branch := range node {
			branches[i] = canonical(branch, namespace)
		}
		return "[" + strings.Join(branches, ",") + "]"
	}
	object := node.(record)
	kind, named := object["type"].(string)
	if !named || primitive[kind] {
		return canonical(object["type"], namespace) // without the logical type
	}
	var parts []string
	if name, ok := object["name"].(string); ok {
		if own, ok := object["namespace"].(string); ok {
			namespace = own
		}
		name = fullName(name, namespace)
		if dot := strings.LastIndex(name, "."); dot >= 0 {
			namespace = name[:dot]
		}
		parts = append(parts, `"name":"`+name+`"`)
	}
	parts = append(parts, `"type":"`+kind+`"`)
	switch kind {
	case "record":
		var fields []string
		for _, each := range object["fields"].([]interface{}) {
			field := each.(record)
			fields = append(fields, fmt.Sprintf(`{"name":"%s","type":%s}`, field["name"],
				canonical(field["type"], namespace)))
		}
		parts = append(parts, `"fields":[`+strings.Join(fields, ",")+"]")
	case "enum":
		symbols, _ := json.Marshal(object["symbols"])
		parts = append(parts, `"symbols":`+string(symbols))
	case "array":
		parts = append(parts, `"items":`+canonical(object["items"], namespace))
	case "map":
		parts = append(parts, `"values":`+canonical(object["values"], namespace))
	case "fixed":
		parts = append(parts, fmt.Sprintf(`"size":%v`, object["size"]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// fingerprint is CRC-64-AVRO.
func fingerprint(form string) uint64 {
	const empty = uint64(0xc15d213aa4d7a795)
	value := empty
	for i := 0; i < len(form); i++ {
		value ^= uint64(form[i])
		for bit := 0; bit < 8; bit++ {
			value = value>>1 ^ empty&-(value&1)
		}
	}
	return value
}
