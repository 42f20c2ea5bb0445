// SPDX-License-Identifier: Apache-2.0

// A remote service that keeps the promises of docs/use/remote-services.md with Go's net/http.
//
//	payment PORT JOURNAL
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"math/big"
	"net/http"
	"os"
	"sync"
)

const limit = 100

type call struct {
	DoKey     string `json:"do_key"`
	Direction string `json:"direction"`
	Order     struct {
		Lines []struct {
			Quantity  int64  `json:"quantity"`
			UnitPrice string `json:"unit_price"`
		} `json:"lines"`
	} `json:"order"`
}

type answer struct {
	Key       string         `json:"key"`
	Direction string         `json:"direction"`
	Status    int            `json:"status"`
	Body      map[string]any `json:"body"`
}

// ledger has the answer to each do and to each undo, by the key of the do.
type ledger struct {
	mutex   sync.Mutex
	file    *os.File
	answers map[string]answer
}

func open(path string) *ledger {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		log.Fatal(err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		log.Fatal(err)
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	if err = file.Truncate(int64(whole)); err != nil { // a line that was not answered yet
		log.Fatal(err)
	}
	l := &ledger{file: file, answers: map[string]answer{}}
	for _, line := range bytes.Split(content[:whole], []byte("\n")) {
		var known answer
		if len(line) == 0 {
			continue
		}
		if err = json.Unmarshal(line, &known); err != nil {
			log.Fatal(err)
		}
		l.answers[known.Direction+" "+known.Key] = known
	}
	return l
}

// keep is done before the answer is sent.
func (l *ledger) keep(a answer) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err = l.file.Write(append(line, '\n')); err != nil {
		return err
	}
	l.answers[a.Direction+" "+a.Key] = a
	return l.file.Sync()
}

func take(c call) (int, map[string]any) {
	amount := new(big.Rat)
	for _, line := range c.Order.Lines {
		price, ok := new(big.Rat).SetString(line.UnitPrice)
		if !ok {
			return 422, map[string]any{"error": "InvalidOrder", "message": "a price is not a number"}
		}
		amount.Add(amount, price.Mul(price, new(big.Rat).SetInt64(line.Quantity)))
	}
	if amount.Cmp(new(big.Rat).SetInt64(limit)) > 0 {
		return 422, map[string]any{"error": "PaymentDeclined",
			"message": amount.FloatString(2) + " is more than 100"}
	}
	return 200, map[string]any{"paid": amount.FloatString(4)}
}

func (l *ledger) perform(c call) (int, map[string]any, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if known, ok := l.answers[c.Direction+" "+c.DoKey]; ok {
		return known.Status, known.Body, nil
	}
	a := answer{Key: c.DoKey, Direction: c.Direction}
	done, wasDone := l.answers["do "+c.DoKey]
	if c.Direction == "undo" {
		a.Status, a.Body = 200, map[string]any{"refunded": wasDone && done.Status == 200}
	} else if _, undone := l.answers["undo "+c.DoKey]; undone {
		return 422, map[string]any{"error": "AlreadyUndone", "message": c.DoKey + " was undone"}, nil
	} else {
		a.Status, a.Body = take(c)
	}
	return a.Status, a.Body, l.keep(a)
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // the agent checks whether the service is healthy
		return
	}
	var c call
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err != nil || c.DoKey == "" {
		http.Error(w, `{"error": "InvalidCall"}`, http.StatusBadRequest)
		return
	}
	status, result, err := l.perform(c)
	if err != nil { // unknown: reeve calls again with the same key
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(result)
}

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], open(os.Args[2])))
}
