package request

import (
	"strings"
	"time"
)

// Types of records that people sign.
const (
	SES = "EU-SES"
	AES = "EU-AES"
)

// PeopleOptions are the options of a request that people sign, beside level and
// timezone, which are those of every signature.
type PeopleOptions struct {
	UI        UI           `json:"ui"`
	Modes     []string     `json:"signatureMode"` // typed, drawn
	Editable  EditableData `json:"userEditableData"`
	MustRead  bool         `json:"signerMustRead"`
	ExpiresAt time.Time    `json:"expiresAt"`
	Reminders *Reminders   `json:"reminders,omitempty"`
	Decline   bool         `json:"decline"`
	Merge     bool         `json:"merge"`
	Template  string       `json:"template,omitempty"` // that it was made from
	Signers   int          `json:"signers"`            // how many are asked
}

// UI is how the signer's page looks. Colours are #rrggbb; empty ones are the page's own.
type UI struct {
	SidebarBackgroundColor         string   `json:"sidebarBackgroundColor,omitempty" doc:"#rrggbb"`
	SidebarTitleColor              string   `json:"sidebarTitleColor,omitempty" doc:"#rrggbb"`
	SidebarTextColor               string   `json:"sidebarTextColor,omitempty" doc:"#rrggbb"`
	FooterBackgroundColor          string   `json:"footerBackgroundColor,omitempty" doc:"#rrggbb"`
	HeaderBackgroundColor          string   `json:"headerBackgroundColor,omitempty" doc:"#rrggbb"`
	HeaderTitleColor               string   `json:"headerTitleColor,omitempty" doc:"#rrggbb"`
	HeaderSubtitleColor            string   `json:"headerSubtitleColor,omitempty" doc:"#rrggbb"`
	ButtonTextColor                string   `json:"buttonTextColor,omitempty" doc:"#rrggbb"`
	ButtonTextColorHover           string   `json:"buttonTextColorHover,omitempty" doc:"#rrggbb"`
	ButtonBackgroundColor          string   `json:"buttonBackgroundColor,omitempty" doc:"#rrggbb"`
	ButtonBackgroundColorHover     string   `json:"buttonBackgroundColorHover,omitempty" doc:"#rrggbb"`
	SignButtonTextColor            string   `json:"signButtonTextColor,omitempty" doc:"#rrggbb"`
	SignButtonTextColorHover       string   `json:"signButtonTextColorHover,omitempty" doc:"#rrggbb"`
	SignButtonBackgroundColor      string   `json:"signButtonBackgroundColor,omitempty" doc:"#rrggbb"`
	SignButtonBackgroundColorHover string   `json:"signButtonBackgroundColorHover,omitempty" doc:"#rrggbb"`
	SidebarLogo                    string   `json:"sidebarLogo,omitempty" doc:"address of a picture, or the picture as data:image/…; also in the mail with the code"`
	HideSidebar                    bool     `json:"hideSidebar" doc:"leave it out"`
	HideHeader                     bool     `json:"hideHeader" doc:"leave it out"`
	HideDownloadValidated          bool     `json:"hideDownloadValidated" doc:"no link to the document as it was sent out"`
	HideDownloadSigned             bool     `json:"hideDownloadSigned" doc:"no link to the signed document"`
	IframeAncestors                []string `json:"iframeAncestors,omitempty" doc:"origins that may frame the page, such as https://example.com"`
	CompleteURL                    string   `json:"completeUrl,omitempty" doc:"where the page leads after the signature"`
	CancelURL                      string   `json:"cancelUrl,omitempty" doc:"where it leads after a refusal"`
}

// EditableData says what signers may change of themselves.
type EditableData struct {
	Name   bool `json:"name"`
	Mobile bool `json:"mobile"`
	Email  bool `json:"email"`
}

// Reminders are sent every so many days, at an hour of the time zone.
type Reminders struct {
	Every int `json:"every"`
	At    int `json:"at"`
}

// WithCode is a message with its code: in the place of {OTP}, or behind it.
func WithCode(message, code string) string {
	switch {
	case strings.Contains(message, "{OTP}"):
		return strings.ReplaceAll(message, "{OTP}", code)
	case message == "":
		return code
	}
	return message + " " + code
}
