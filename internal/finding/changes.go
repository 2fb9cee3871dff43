package finding

import (
	"strconv"
	"strings"

	"rogito.dev/rogito/ades"
)

// ChangeText is the text of a change after signing. In English it is the description made by the
// reader of the document.
func ChangeText(lang string, c ades.Change) string {
	t, ok := italianChanges[c.What]
	if lang != "it" || !ok {
		return c.Description
	}
	name := c.Name
	if n, ok := italianReasons[name]; ok {
		name = n
	}
	return strings.NewReplacer("{page}", strconv.Itoa(c.Page), "{field}", strconv.Quote(c.Field), "{name}", name).Replace(t)
}

// italianReasons translates the reasons why it is unknown what a field shows.
var italianReasons = map[string]string{
	"rich text":                                   "testo formattato",
	"list box":                                    "elenco a scelta",
	"its appearance cannot be read":               "il suo aspetto non si può leggere",
	"its appearance draws more than text":         "il suo aspetto disegna più che testo",
	"the glyphs of its font cannot be checked":    "i caratteri del suo font non si possono controllare",
	"its text is placed where it may not be seen": "il suo testo sta dove potrebbe non vedersi",
	"its appearance was taken away":               "il suo aspetto è stato tolto",
	"its appearance covers what is below it":      "il suo aspetto copre ciò che sta sotto",
	"its letters are larger than letters":         "le sue lettere sono più grandi di lettere",
	"it is written over what the page says":       "è scritto sopra ciò che dice la pagina",
	"its button is as large as a picture":         "il suo pulsante è grande come un'immagine",
	"its marks cannot be told from a drawing":     "i suoi segni non si distinguono da un disegno",
	"its value is no text":                        "il suo valore non è un testo",
}

// italianChanges translates the table of changes. The English texts are in internal/revision; a
// test there checks that this is complete.
var italianChanges = map[string]string{
	"dss":                  "sono stati aggiunti dati di validazione",
	"timestamp":            "è stata aggiunta una marca temporale del documento: {field}",
	"timestamp-void":       "è stata aggiunta una marca temporale del documento che non si verifica: {field}",
	"timestamp-visible":    "è stata aggiunta una marca temporale del documento che mostra qualcosa a pagina {page}: {field}",
	"signature":            "è stata aggiunta una firma: {field}",
	"signature-covers":     "l'immagine della firma {field} copre troppo di ciò che mostra la pagina {page}",
	"signature-visible":    "è stata aggiunta una firma con una propria immagine a pagina {page}: {field}",
	"signature-filled":     "è stata apposta una firma nel campo {field}",
	"signature-void":       "nel campo {field} è stato messo qualcosa che non è una firma di questo file",
	"signature-changed":    "la firma nel campo {field} è stata modificata ({name})",
	"signature-removed":    "la firma è stata tolta dal campo {field}",
	"signature-field":      "è stato aggiunto un campo di firma vuoto: {field}",
	"signature-field-look": "è stato aggiunto un campo di firma che mostra qualcosa senza essere firmato: {field}",
	"signature-field-odd":  "il nuovo campo di firma {field} contiene qualcosa che non si spiega ({name})",
	"signature-field-runs": "il nuovo campo di firma {field} porta con sé un'azione",
	"signature-field-note": "il nuovo campo di firma {field} è disegnato come qualcos'altro ({name})",
	"field-shared":         "l'aspetto che aveva il campo {field} è usato anche altrove",
	"form-fill-anew":       "il campo {field} aveva o mostrava qualcosa quando il documento è stato certificato, e ora ha o mostra altro, come la certificazione permette",
	"form-fill-again":      "il campo {field} aveva o mostrava qualcosa al momento della firma, e ora ha o mostra altro",
	"form-fill-locked":     "il campo {field} è stato compilato, benché sia di sola lettura",
	"form-fill":            "il campo {field} è stato compilato",
	"form-fill-other":      "il campo {field} mostra qualcosa di diverso dal suo valore",
	"form-fill-odd":        "non si può dire se il campo {field} mostri il suo valore ({name})",
	"form-resources":       "sono state aggiunte risorse per il modulo ({name})",
	"form-replaced":        "sono state modificate risorse con cui i campi del modulo sono disegnati ({name})",
	"form-changed":         "il modulo è stato modificato ({name})",
	"form-odd":             "il modulo contiene qualcosa che non si spiega ({name})",
	"form-appearances":     "il modulo ora chiede ai lettori di disegnare i suoi campi in un altro modo",
	"xfa":                  "il modulo dinamico (XFA) è stato modificato",
	"field-added":          "è stato aggiunto un campo al modulo: {field}",
	"field-removed":        "il campo {field} è stato tolto dal modulo",
	"field-twice":          "è stato aggiunto un secondo campo di nome {field}",
	"field-changed":        "il campo {field} è stato modificato ({name})",
	"field-odd":            "il campo {field} contiene qualcosa che non si spiega ({name})",
	"field-runs":           "un'azione del campo {field} è stata modificata",
	"field-widgets":        "i luoghi in cui il campo {field} si vede sono stati modificati",
	"field-moved":          "un campo esistente è stato messo a pagina {page}",
	"field-locked":         "il campo {field} è bloccato da una firma ed è stato modificato",
	"annotation-covers":    "un'annotazione a pagina {page} copre ciò che la pagina mostra in quel punto ({name})",
	"annotation-added":     "è stata aggiunta un'annotazione a pagina {page} ({name})",
	"annotation-changed":   "un'annotazione a pagina {page} è stata modificata ({name})",
	"annotation-removed":   "un'annotazione è stata tolta da pagina {page} ({name})",
	"annotation-runs":      "a un'annotazione di pagina {page} è stata data un'azione ({name})",
	"annotation-other":     "un'annotazione che non è un commento è stata aggiunta, modificata o tolta a pagina {page} ({name})",
	"annotation-order":     "le annotazioni di pagina {page} sono state messe in un altro ordine",
	"annotation-odd":       "pagina {page} elenca come annotazione qualcosa che non lo è",
	"widget-added":         "un campo che non è nel modulo è stato disegnato a pagina {page}",
	"widget-removed":       "un campo del modulo è stato tolto da pagina {page}",
	"pages":                "sono state aggiunte, tolte o spostate delle pagine",
	"page-content":         "il contenuto di pagina {page} è stato modificato",
	"page-resources":       "ciò con cui il contenuto di pagina {page} è disegnato è stato modificato ({name})",
	"page-resources+":      "a pagina {page} sono state aggiunte risorse che il suo contenuto non usa ({name})",
	"page-tree":            "l'albero delle pagine è stato scritto in modo che i lettori non concordino su quali pagine ci siano",
	"page-box":             "le dimensioni di pagina {page}, o la parte che se ne vede, sono state modificate ({name})",
	"page-changed":         "pagina {page} è stata modificata ({name})",
	"page-runs":            "un'azione di pagina {page} è stata modificata",
	"page-odd":             "pagina {page} contiene qualcosa che non si spiega ({name})",
	"info":                 "le informazioni sul documento sono state modificate",
	"metadata":             "i metadati sono stati modificati",
	"version":              "la versione che il documento dichiara è stata modificata",
	"permissions":          "i permessi del documento sono stati modificati",
	"permissions+":         "una firma è stata iscritta fra i permessi del documento",
	"encryption":           "la cifratura del documento è stata modificata",
	"actions":              "è stato modificato ciò che si avvia aprendo o usando il documento ({name})",
	"names+":               "sono stati aggiunti aspetti con nome che nulla richiama",
	"names":                "parti del documento con un nome sono state modificate ({name})",
	"attachments":          "i file allegati sono stati modificati",
	"layers":               "i livelli che si vedono sono stati modificati",
	"display":              "il modo in cui il documento si vede è stato modificato ({name})",
	"outlines":             "i segnalibri sono stati modificati",
	"structure":            "la struttura logica è stata modificata",
	"structure+":           "nuovi campi di firma sono stati iscritti nella struttura logica",
	"catalog-odd":          "il documento contiene qualcosa che non si spiega ({name})",
	"trailer-odd":          "il trailer contiene qualcosa che non si spiega ({name})",
	"unreadable":           "ciò che segue la firma non si può leggere: {name}",
	"too-much":             "le revisioni sono troppo grandi per essere confrontate",
	"too-many":             "più firme e revisioni di quante se ne possano confrontare",
	"trailing-data":        "dati dopo la fine del documento",
	"repaired":             "la tabella dei riferimenti è guasta: non si può dire che cosa segua la firma",
}
