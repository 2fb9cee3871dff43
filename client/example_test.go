package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"rogito.dev/rogito/client"
)

// Sign a file, and write the signed one beside it.
func Example() {
	c := client.New("http://127.0.0.1:8080", os.Getenv("TOKEN"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	record, err := c.Sign(ctx, client.Automatic, client.SignRequest{
		Documents: []client.Document{client.File("contract.pdf")},
		Username:  os.Getenv("USERNAME"), Password: os.Getenv("PASSWORD"),
		Title: "Contract 17",
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := os.Create("contract-signed.pdf")
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Download(ctx, record.ID, out); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}

// Asynchronous signing: the answer comes at once, the record is waited for.
func ExampleClient_Wait() {
	c := client.New("http://127.0.0.1:8080", os.Getenv("TOKEN"))
	ctx := context.Background()
	record, err := c.Sign(ctx, client.Automatic, client.SignRequest{
		Documents: []client.Document{client.File("a.pdf"), client.File("b.pdf")},
		Username:  os.Getenv("USERNAME"), Password: os.Getenv("PASSWORD"),
		Options: client.Options{AsyncSignature: true, Batch: true, Level: "LT"},
	})
	if err == nil {
		record, err = c.Wait(ctx, record.ID)
	}
	var failed *client.SignError
	var refused *client.Error
	switch {
	case errors.As(err, &failed):
		fmt.Println("taken, and failed:", failed.Number, failed.Message)
	case errors.As(err, &refused):
		fmt.Println("refused:", refused.Code, refused.Message)
	case err != nil:
		fmt.Println("an accident:", err)
	default:
		fmt.Println(record.Document.SignedDocument.Name)
	}
}

// What is a signed file worth?
func ExampleClient_Verify() {
	c := client.New("http://127.0.0.1:8080", os.Getenv("TOKEN"))
	verdict, err := c.Verify(context.Background(), client.VerifyRequest{Document: client.File("contract-signed.pdf")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.OverallVerified, verdict.Message)
	for _, s := range verdict.Signatures {
		fmt.Println(*s.SubjectCN, s.Indication, s.Qualification)
	}
}

// A receiver of callbacks.
func ExampleReadCallback() {
	secret := os.Getenv("WEBHOOK_SECRET")
	http.HandleFunc("/hook", func(w http.ResponseWriter, r *http.Request) {
		d, err := client.ReadCallback(r, secret)
		if err != nil {
			http.Error(w, "not for me", http.StatusForbidden)
			return
		}
		if record, err := d.Signature(); err == nil {
			log.Println(record.ID, record.State)
		}
	})
}
