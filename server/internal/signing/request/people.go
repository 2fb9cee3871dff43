package request

import "time"

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
	SidebarBackgroundColor         string   `json:"sidebarBackgroundColor,omitempty" rule:"colour"`
	SidebarTitleColor              string   `json:"sidebarTitleColor,omitempty" rule:"colour"`
	SidebarTextColor               string   `json:"sidebarTextColor,omitempty" rule:"colour"`
	FooterBackgroundColor          string   `json:"footerBackgroundColor,omitempty" rule:"colour"`
	HeaderBackgroundColor          string   `json:"headerBackgroundColor,omitempty" rule:"colour"`
	HeaderTitleColor               string   `json:"headerTitleColor,omitempty" rule:"colour"`
	HeaderSubtitleColor            string   `json:"headerSubtitleColor,omitempty" rule:"colour"`
	ButtonTextColor                string   `json:"buttonTextColor,omitempty" rule:"colour"`
	ButtonTextColorHover           string   `json:"buttonTextColorHover,omitempty" rule:"colour"`
	ButtonBackgroundColor          string   `json:"buttonBackgroundColor,omitempty" rule:"colour"`
	ButtonBackgroundColorHover     string   `json:"buttonBackgroundColorHover,omitempty" rule:"colour"`
	SignButtonTextColor            string   `json:"signButtonTextColor,omitempty" rule:"colour"`
	SignButtonTextColorHover       string   `json:"signButtonTextColorHover,omitempty" rule:"colour"`
	SignButtonBackgroundColor      string   `json:"signButtonBackgroundColor,omitempty" rule:"colour"`
	SignButtonBackgroundColorHover string   `json:"signButtonBackgroundColorHover,omitempty" rule:"colour"`
	SidebarLogo                    string   `json:"sidebarLogo,omitempty"`
	HideSidebar                    bool     `json:"hideSidebar"`
	HideHeader                     bool     `json:"hideHeader"`
	HideDownloadValidated          bool     `json:"hideDownloadValidated"`
	HideDownloadSigned             bool     `json:"hideDownloadSigned"`
	IframeAncestors                []string `json:"iframeAncestors,omitempty"`
	CompleteURL                    string   `json:"completeUrl,omitempty"`
	CancelURL                      string   `json:"cancelUrl,omitempty"`
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
