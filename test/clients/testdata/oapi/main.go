// What oapi-codegen makes signs, downloads and verifies.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.org/signs/api"
)

func main() {
	ctx := context.Background()
	document, err := os.ReadFile(os.Getenv("ROGITO_DOCUMENT"))
	check(err)
	client, err := api.NewClientWithResponses(os.Getenv("ROGITO_URL"), api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("ROGITO_TOKEN"))
		return nil
	}))
	check(err)

	request := api.SignatureRequest{CertificateUsername: os.Getenv("ROGITO_USERNAME"), CertificatePassword: os.Getenv("ROGITO_PASSWORD")}
	check(request.InputDocuments.FromInputDocument(api.InputDocument{Payload: new(base64.StdEncoding.EncodeToString(document))}))
	signed, err := client.SignAutomaticWithResponse(ctx, &api.SignAutomaticParams{}, request)
	check(err)
	if signed.JSON200 == nil || signed.JSON200.Data.State != "DONE" {
		log.Fatalf("sign: %s", signed.Body)
	}
	got, err := client.DownloadSignedDocumentWithResponse(ctx, signed.JSON200.Data.Id)
	check(err)
	if !bytes.HasPrefix(got.Body, []byte("%PDF-")) {
		log.Fatalf("download: %.100s", got.Body)
	}
	verdict, err := client.VerifyWithResponse(ctx, &api.VerifyParams{}, api.VerifyRequest{InputDocument: base64.StdEncoding.EncodeToString(got.Body)})
	check(err)
	if verdict.JSON200 == nil || verdict.JSON200.Data == nil || !verdict.JSON200.Data.OverallVerified {
		log.Fatalf("verify: %.1000s", verdict.Body)
	}
	fmt.Println("signed", signed.JSON200.Data.Id)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
