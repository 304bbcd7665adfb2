// A receiver of webhooks that verifies the raw bytes. Start it with: SECRET=... PORT=8080 go run verify.go
package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

var secret = []byte(os.Getenv("SECRET"))

func isAuthentic(body []byte, signature string) bool {
	mac := hmac.New(sha1.New, secret)
	mac.Write(body)
	expected := hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature)) // constant time
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if errors.As(err, new(*http.MaxBytesError)) {
		w.WriteHeader(http.StatusRequestEntityTooLarge) // final
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError) // the body broke off: the event comes again
		return
	}
	if !isAuthentic(body, r.Header.Get("X-Signature")) {
		w.WriteHeader(http.StatusUnauthorized) // final; after a 5xx the event would come again for four hours
		return
	}
	// Here body is an event. Store it, and work on it after the answer.
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	if len(secret) == 0 {
		log.Fatal("SECRET is not set")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/hook\n", listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
