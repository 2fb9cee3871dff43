package enrol

import (
	"rogito.dev/rogito/server/internal/fault"
)

// texts of a page, in one language.
type texts struct {
	Holder, KindName                              string
	Approve, ApproveHelp                          string
	WillStand, OnlyProven, AgainReveal            string
	AgainDevice                                   string
	SignatureTitle, SignatureHelp, SignatureFile  string
	SignatureStatement, Send                      string
	VideoTitle, VideoHelp, VideoFile, PhotoFile   string
	OrganizationFile                              string
	Wait, Reload                                  string
	Confirm, ConfirmHelp, ConfirmWrong, FilledIn  string
	RevealHelp, Reveal                            string
	Shown, Username, Password, Secret, ScanQR     string
	DeviceTitle, DeviceHelp, DevicePassword       string
	DeviceCode, DeviceSend                        string
	ShownBefore, ShownTo, ShownNotYou             string
	End, Problem, TooLarge, OnlyOnce, NotToOthers string
	Back, Ended, NoProvider, Depart, DepartButton string
	Differs, NotProven                            string
	LoginHelp, CredentialTitle, CredentialHelp    string
	Credential, PIN                               string
	AccountHelp, AccountUser, AccountPassword     string
	Delegate, DelegatePassword, DelegateHelp      string
	CodeTitle, CodeHelp, CodeSend, CodeSent       string
	LabelDiffers, DeviceBefore, DeviceFrom        string
	Factors                                       map[string]string // that allowed a new device
	Kinds, Attributes                             map[string]string
	Away                                          map[string][3]string  // title, help, what stands before a provider's name
	Faults                                        map[fault.Code]string // that pages meet; in English they say it themselves
}

var translations = map[string]texts{
	"en": {
		Holder: "Holder", KindName: "Kind",
		Approve: "Approve", ApproveHelp: "In the sandbox nobody is identified: this button is enough.",
		WillStand: "What the certificate will say", OnlyProven: "Only what your identification proves will stand in the certificate. What is missing is taken from there; an e-mail address or a telephone number that it does not prove is left out.",
		AgainReveal:    "Your certificate is ready. The credentials show only in the browser in which you were identified. Is this another one? Then be identified again.",
		AgainDevice:    "To enrol a new device you need the old one, or be identified again.",
		SignatureTitle: "With an electronic signature", SignatureHelp: "Download the statement, read it, sign it as it is with your own electronic signature (PAdES or .p7m), and send it back. It is good for this order only, for a day.",
		SignatureStatement: "Download the statement", SignatureFile: "Signed statement", Send: "Send",
		VideoTitle: "With a video", OrganizationFile: "Extract from the register that names the organisation and you as its representative",
		VideoHelp: "Upload a short video in which you say your name and today's date, and a photo of an identity document. An operator will look at them.",
		VideoFile: "Video", PhotoFile: "Photo of the document",
		Wait: "We are looking at what you sent. Come back to this page later.", Reload: "Look again",
		Confirm: "Confirm and issue", ConfirmHelp: "You were identified. The order left some of this open, and your identification has filled it in. Nothing is issued before you confirm it.",
		ConfirmWrong: "Is something wrong? Then do not confirm, and tell whoever ordered the certificate: they can cancel the order.", FilledIn: "from your identification",
		RevealHelp: "Your certificate is ready. The credentials are shown once: have something to write at hand.", Reveal: "Show the credentials",
		Shown: "Your credentials", Username: "Username", Password: "Password", Secret: "Secret for one-time passwords", ScanQR: "Scan this with an authenticator app.",
		DeviceTitle: "A new device", DeviceHelp: "Give the password of the certificate and, unless you were identified again, a code of the old device. The old one stops working.", DevicePassword: "Password", DeviceCode: "Code of the old device", DeviceSend: "Enrol",
		ShownBefore: "The credentials of this certificate were shown on", ShownTo: "to the address", ShownNotYou: "If that was not you, somebody else has them: have the certificate revoked at once by whoever ordered it or by the operator of this service.",
		End: "There is nothing to do here: the link was used, or it is not valid.", Problem: "That did not work",
		TooLarge: "What you sent is too large.", OnlyOnce: "They are shown only now. Keep them safe.", NotToOthers: "Nobody will ever ask you for them.",
		Back: "Back to your order", Ended: "It was the fifth attempt: the order is cancelled, and its price goes back to whoever paid.",
		NoProvider: "Nobody can be asked at the moment. Try again later, or choose another way.",
		LoginHelp:  "You log in at the provider that has your key:", CredentialTitle: "Your key at the provider",
		CredentialHelp: "Name the credential as the provider knows it, and its PIN where it has one. The PIN is kept sealed under the password that you will see next, and goes to the provider when you sign.",
		Credential:     "Credential", PIN: "PIN, where the credential has one",
		AccountHelp: "Give the username and password that the provider gave you for this key. They are kept sealed under the password that you will see next, and go to the provider when you sign. No one-time password is needed here.",
		AccountUser: "Username at the provider", AccountPassword: "Password or PIN at the provider",
		DelegateHelp: "Does somebody else use your key for you? Then give that delegate's name and password in place of yours.", Delegate: "Delegate", DelegatePassword: "Password of the delegate",
		CodeTitle: "One-time password", CodeHelp: "Have the provider send a code to your telephone. It is asked for when you sign, not here.", CodeSend: "Send me a code", CodeSent: "The provider was asked to send a code.",
		Depart: "You are being sent to your identity provider. Nothing happens? Press the button.", DepartButton: "Go on",
		Differs: "The person identified is not the one that the order names. What differs:", NotProven: "Your identification does not prove something that the order names:",
		Away: map[string][3]string{
			"spid": {"With SPID", "Choose your identity provider. You need credentials of the second level or higher.", "Enter with SPID: "},
			"cie":  {"With the electronic identity card (CIE)", "You need your card with its PIN, or the app CieID.", "Enter with CIE: "},
			"cns":  {"With a smart card (CNS, TS-CNS)", "Insert the card into its reader first. Your browser asks which certificate to show, and for the PIN. A card whose certificate has no names proves your fiscal code only: somebody here then checks the names of the order first, and you come back to this page later.", "Show the card"},
		},
		LabelDiffers: "The holder's name above is only a label of the order. The certificate is for:",
		DeviceBefore: "A new device for one-time passwords was enrolled on", DeviceFrom: "from the address",
		Factors: map[string]string{"code": "with the password and a code of the old device", "identification": "with the password, after another identification"},
		Kinds:   map[string]string{"automatic": "automatic signature", "otp": "signature with one-time password", "eseal": "electronic seal"},
		Attributes: map[string]string{
			"fiscalCode": "Fiscal code", "organizationIdentifier": "Identifier of the organisation", "surname": "Surname", "givenName": "Given name",
			"organization": "Organisation", "dateOfBirth": "Date of birth", "country": "Country", "email": "E-mail", "mobile": "Mobile",
		},
	},
	"it": {
		Holder: "Titolare", KindName: "Tipo",
		Approve: "Approva", ApproveHelp: "Nella sandbox nessuno viene identificato: basta questo pulsante.",
		WillStand: "Che cosa dirà il certificato", OnlyProven: "Nel certificato starà solo ciò che la tua identificazione dimostra. Ciò che manca si ricava da lì; un indirizzo di posta o un numero di telefono che non dimostra resta fuori.",
		AgainReveal:    "Il tuo certificato è pronto. Le credenziali si vedono solo nel browser in cui sei stato identificato. Questo è un altro? Allora fatti identificare di nuovo.",
		AgainDevice:    "Per registrare un nuovo dispositivo serve quello vecchio, oppure una nuova identificazione.",
		SignatureTitle: "Con una firma elettronica", SignatureHelp: "Scarica la dichiarazione, leggila, firmala così com'è con la tua firma elettronica (PAdES o .p7m) e inviala. Vale solo per questo ordine, per un giorno.",
		SignatureStatement: "Scarica la dichiarazione", SignatureFile: "Dichiarazione firmata", Send: "Invia",
		VideoTitle: "Con un video", OrganizationFile: "Visura che indica l'organizzazione e te come rappresentante",
		VideoHelp: "Carica un breve video in cui dici il tuo nome e la data di oggi, e la foto di un documento d'identità. Un operatore li esaminerà.",
		VideoFile: "Video", PhotoFile: "Foto del documento",
		Wait: "Stiamo esaminando ciò che hai inviato. Torna più tardi su questa pagina.", Reload: "Ricarica",
		Confirm: "Conferma ed emetti", ConfirmHelp: "Sei stato identificato. L'ordine lasciava aperti alcuni di questi dati, e li ha completati la tua identificazione. Nulla viene emesso prima della tua conferma.",
		ConfirmWrong: "Qualcosa non è giusto? Allora non confermare, e dillo a chi ha ordinato il certificato: può annullare l'ordine.", FilledIn: "dalla tua identificazione",
		RevealHelp: "Il tuo certificato è pronto. Le credenziali sono mostrate una sola volta: preparati a scriverle.", Reveal: "Mostra le credenziali",
		Shown: "Le tue credenziali", Username: "Nome utente", Password: "Password", Secret: "Segreto per i codici temporanei", ScanQR: "Inquadra il codice con un'app di autenticazione.",
		DeviceTitle: "Un nuovo dispositivo", DeviceHelp: "Inserisci la password del certificato e, se non sei stato identificato di nuovo, un codice del vecchio dispositivo. Quello vecchio smetterà di funzionare.", DevicePassword: "Password", DeviceCode: "Codice del vecchio dispositivo", DeviceSend: "Registra",
		ShownBefore: "Le credenziali di questo certificato sono state mostrate il", ShownTo: "all'indirizzo", ShownNotYou: "Se non eri tu, le ha qualcun altro: fai revocare subito il certificato da chi l'ha ordinato o dal gestore di questo servizio.",
		End: "Qui non c'è nulla da fare: il collegamento è già stato usato o non è valido.", Problem: "Non ha funzionato",
		TooLarge: "Ciò che hai inviato è troppo grande.", OnlyOnce: "Sono mostrate solo adesso. Conservale al sicuro.", NotToOthers: "Nessuno te le chiederà mai.",
		Back: "Torna al tuo ordine", Ended: "Era il quinto tentativo: l'ordine è annullato e il prezzo torna a chi l'ha pagato.",
		NoProvider: "In questo momento non si può chiedere a nessuno. Riprova più tardi, o scegli un altro modo.",
		LoginHelp:  "Accedi presso il fornitore che custodisce la tua chiave:", CredentialTitle: "La tua chiave presso il fornitore",
		CredentialHelp: "Indica la credenziale come la conosce il fornitore, e il suo PIN se ne ha uno. Il PIN resta sigillato sotto la password che vedrai tra poco, e va al fornitore quando firmi.",
		Credential:     "Credenziale", PIN: "PIN, se la credenziale ne ha uno",
		AccountHelp: "Inserisci il nome utente e la password che il fornitore ti ha dato per questa chiave. Restano sigillati sotto la password che vedrai tra poco, e vanno al fornitore quando firmi. Qui non serve alcun codice temporaneo.",
		AccountUser: "Nome utente presso il fornitore", AccountPassword: "Password o PIN presso il fornitore",
		DelegateHelp: "La tua chiave è usata per te da qualcun altro? Allora inserisci nome e password di quel delegato al posto dei tuoi.", Delegate: "Delegato", DelegatePassword: "Password del delegato",
		CodeTitle: "Codice temporaneo", CodeHelp: "Fatti inviare un codice dal fornitore sul tuo telefono. Serve quando firmi, non qui.", CodeSend: "Inviami un codice", CodeSent: "Al fornitore è stato chiesto di inviare un codice.",
		Depart: "Stai andando dal tuo gestore di identità. Non succede nulla? Premi il pulsante.", DepartButton: "Prosegui",
		Differs: "La persona identificata non è quella indicata nell'ordine. Non corrisponde:", NotProven: "La tua identificazione non dimostra un dato indicato nell'ordine:",
		Away: map[string][3]string{
			"spid": {"Con SPID", "Scegli il tuo gestore di identità. Servono credenziali di secondo livello o superiore.", "Entra con SPID: "},
			"cie":  {"Con la carta d'identità elettronica (CIE)", "Servono la carta con il suo PIN, oppure l'app CieID.", "Entra con CIE: "},
			"cns":  {"Con una carta (CNS, TS-CNS)", "Inserisci prima la carta nel lettore. Il browser chiede quale certificato mostrare, e il PIN. Una carta il cui certificato non riporta i nomi dimostra solo il codice fiscale: in quel caso un operatore verifica prima i nomi dell'ordine, e torni su questa pagina più tardi.", "Mostra la carta"},
		},
		Faults: map[fault.Code]string{
			fault.NoIdentification: "Questo modo di identificarsi non è attivo su questo server.",
			fault.WrongState:       "L'ordine non lo permette più, o non ancora: torna alla sua pagina.",
			fault.Unavailable:      "L'identificazione non può essere completata adesso: riprova tra poco.",
			fault.NotFound:         "Il collegamento non è valido.",
		},
		LabelDiffers: "Il nome del titolare qui sopra è solo un'etichetta dell'ordine. Il certificato è per:",
		DeviceBefore: "Un nuovo dispositivo per i codici temporanei è stato registrato il", DeviceFrom: "dall'indirizzo",
		Factors: map[string]string{"code": "con la password e un codice del vecchio dispositivo", "identification": "con la password, dopo una nuova identificazione"},
		Kinds:   map[string]string{"automatic": "firma automatica", "otp": "firma con codice temporaneo", "eseal": "sigillo elettronico"},
		Attributes: map[string]string{
			"fiscalCode": "Codice fiscale", "organizationIdentifier": "Identificativo dell'organizzazione", "surname": "Cognome", "givenName": "Nome",
			"organization": "Organizzazione", "dateOfBirth": "Data di nascita", "country": "Paese", "email": "Posta elettronica", "mobile": "Cellulare",
		},
	},
}
