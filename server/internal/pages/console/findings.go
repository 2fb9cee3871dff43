package console

import (
	"regexp"
	"strings"
	"sync"

	"rogito.dev/rogito/server/internal/pages/look"
)

// findings are the sentences of the doctor, which are English, as people read
// them: their forms as package doctor writes them, and in Italian. What an error
// says stays as it is.
var findings = sync.OnceValue(func() sentences { return said(italianFindings) }) // a command that shows no page does without

var italianFindings = map[string]string{
	"check the folder or bucket that blobs names, and its credentials; a bucket has to be made before the first start":          "controlla la cartella o il bucket indicato da blobs e le sue credenziali; un bucket va creato prima del primo avvio",
	"bring back the key that the database was made with (master_key_file, master.key in the data folder, or ROGITO_MASTER_KEY)": "riporta la chiave con cui è stata creata la base di dati (master_key_file, master.key nella cartella dei dati o ROGITO_MASTER_KEY)",
	"see tls.cert and tls.key, or the log for what the ACME authority said":                                                     "controlla tls.cert e tls.key, o leggi nel log la risposta dell'autorità ACME",
	"the server has no certificate: %v":                                                       "il server non ha un certificato: %s",
	"renew it: a new file is taken over by itself":                                            "rinnovalo: un file nuovo viene preso da solo",
	"the certificate of %s ended on %s":                                                       "il certificato di %s è scaduto il %s",
	"renew it: a new file is taken over by itself; of ACME, look into the log":                "rinnovalo: un file nuovo viene preso da solo; con ACME, guarda nel log",
	"the certificate of %s is good until %s":                                                  "il certificato di %s vale fino al %s",
	"check the folder or bucket that audit.export names, and that the bucket has object lock": "controlla la cartella o il bucket indicato da audit.export, e che il bucket abbia l'object lock",
	"a running server writes one within a minute; its log says what fails":                    "un server in funzione ne scrive una entro un minuto; il suo log dice che cosa non riesce",
	"there is none yet": "non ce n'è ancora nessuna",
	"the log of the server says what fails; where nothing happened since, there is nothing to write": "il log del server dice che cosa non riesce; se da allora non è successo nulla, non c'è nulla da scrivere",
	"the last is of %s": "l'ultima è del %s",
	"check mail.server, mail.security and the password there: nobody is told of what waits": "controlla mail.server, mail.security e la password: nessuno viene avvisato di ciò che attende",
	"the server takes it": "il server di posta la accetta",
	"the first %d entries and their records were not read again: they were proved up to entry %d on %s (without --continue they are)": "le prime %s voci e le loro pratiche non sono state rilette: sono state provate fino alla voce %s il %s (senza --continue lo sono)",
	"the first %d entries and their records were not read: their tree has the root that the checkpoint says":                          "le prime %s voci e le loro pratiche non sono state lette: il loro albero ha la radice indicata dal checkpoint",
	"nothing contradicts itself":                                            "nulla si contraddice",
	"mend the configuration; rogito config prints every key":                "correggi la configurazione; rogito config elenca tutte le chiavi",
	"public_url is not set: links in certificates would name %s":            "public_url non è impostato: i collegamenti nei certificati indicherebbero %s",
	"set public_url to the address clients use":                             "imposta public_url con l'indirizzo usato dai client",
	"%s does not exist":                                                     "%s non esiste",
	"start the server (rogito serve) or make an installation (rogito init)": "avvia il server (rogito serve) o crea un'installazione (rogito init)",
	"check the permissions of the folder and its parents":                   "controlla i permessi della cartella e di quelle che la contengono",
	"%s is not a folder":                                                    "%s non è una cartella",
	"name a folder with --data":                                             "indica una cartella con --data",
	"others on this machine may look into %s":                               "altri utenti di questa macchina possono guardare in %s",
	"chmod 700 %s":           "chmod 700 %s",
	"cannot be measured: %v": "non si può misurare: %s",
	"check by hand":          "controlla a mano",
	"%d MB free (%.1f %%)":   "%s MB liberi (%s %%)",
	"%d MB free (%.0f %%)":   "%s MB liberi (%s %%)",
	"make room: nothing new is taken in below the reserve (limits.reserve)": "fai spazio: sotto la riserva (limits.reserve) nulla di nuovo viene accettato",
	"make room soon": "fai spazio presto",
	"it is %s here":  "qui sono le %s",
	"set the clock, and keep it set (chrony, systemd-timesyncd)": "regola l'orologio e tienilo regolato (chrony, systemd-timesyncd)",
	"a file in the data folder is %v in the future":              "un file nella cartella dei dati è avanti di %s nel futuro",
	"keep the clock set (chrony, systemd-timesyncd)":             "tieni regolato l'orologio (chrony, systemd-timesyncd)",
	"given in the environment":                                   "data nell'ambiente del processo",
	"on a new installation: rogito init; else bring the key back from its backup, since without it nothing sealed can be read": "in un'installazione nuova: rogito init; altrimenti riporta la chiave dalla sua copia: senza, nulla di sigillato si può leggere",
	"have /pki answered by http as well, and set status_url to that address":                                                   "fai rispondere /pki anche in http, e metti quell'indirizzo in status_url",
	"certificates name lists and answers by https, which many verifiers do not fetch":                                          "i certificati indicano liste e risposte in https, che molti verificatori non scaricano",
	"check the permissions":              "controlla i permessi",
	"others on this machine may read %s": "altri utenti di questa macchina possono leggere %s",
	"chmod 600 %s, and rotate it (rogito master-key rotate) if somebody may have read it":          "chmod 600 %s, e cambiala (rogito master-key rotate) se qualcuno può averla letta",
	"it lies in the data folder: whoever copies the folder has both (rogito backup leaves it out)": "sta nella cartella dei dati: chi copia la cartella ha entrambi (rogito backup la lascia fuori)",
	"keep it elsewhere (master_key_file), and a copy in a safe place":                              "tienila altrove (master_key_file), con una copia in un luogo sicuro",
	"check that the database runs and the disk has room":                                           "controlla che la base di dati funzioni e che il disco abbia spazio",
	"%s answers": "%s risponde",
	"check the folder or bucket, its credentials and its free space": "controlla la cartella o il bucket, le sue credenziali e lo spazio libero",
	"cannot store: %v":                                                "non si può scrivere: %s",
	"cannot read what was stored: %v":                                 "non si può leggere ciò che è stato scritto: %s",
	"what was stored came back different":                             "ciò che è stato scritto torna diverso",
	"a probe was stored, read and removed":                            "una prova è stata scritta, letta e tolta",
	"none is loaded: quotations answer 503":                           "nessuna è caricata: le quotazioni rispondono 503",
	"rogito omi import PUBLICATION.zip":                               "rogito omi import PUBBLICAZIONE.zip",
	"import the publication again: rogito omi import PUBLICATION.zip": "importa di nuovo la pubblicazione: rogito omi import PUBLICATION.zip",
	"%d loaded": "%s caricate",
	"rogito identify test %s says it again; docs/identification.md says what it takes": "rogito identify test %s lo ripete; docs/identification.md dice che cosa serve",
	"run the command as the server's user: until it prints the key no server starts":   "esegui il comando con l'utente del server: finché non stampa la chiave nessun server parte",
	"master.command prints it":                      "la stampa master.command",
	"the PKCS#11 token of master.pkcs11 derives it": "la deriva il token PKCS#11 di master.pkcs11",
	"see that the token is there, and module, label, PIN and key of master.pkcs11: until it derives the key no server starts": "controlla che il token ci sia, e modulo, etichetta, PIN e chiave di master.pkcs11: finché non deriva la chiave nessun server parte",
	"bring the table authority_keys back from a backup (rogito restore), with the master key of its time":                     "riporta la tabella authority_keys da un backup (rogito restore), con la chiave principale di allora",
	"cannot be opened: %v": "non si può aprire: %s",
	"mend the configuration; docs/identification.md says what each method takes": "correggi la configurazione; docs/identification.md dice che cosa serve a ogni metodo",
	"see the message; rogito config --effective shows what is set":               "leggi il messaggio; rogito config --effective mostra che cosa è impostato",
	"look at the database":   "controlla la base di dati",
	"cannot be examined: %v": "non si può esaminare: %s",
	"bring the tables authority_keys and authority_crl back from a backup (rogito restore), or set the clock":                                                          "riporta le tabelle authority_keys e authority_crl da un backup (rogito restore), o regola l'orologio",
	"keys open, certificates and lists are in time":                                                                                                                    "le chiavi si aprono, certificati ed elenchi sono in corso di validità",
	"bring the credentials back from a backup (rogito restore), with the master key of its time; else revoke these certificates (rogito cert revoke) and buy new ones": "riporta le credenziali da un backup (rogito restore), con la chiave principale di allora; altrimenti revoca questi certificati (rogito cert revoke) e acquistane di nuovi",
	"%d certificates can sign: their keys open under the master key":                                                                                                   "%s certificati possono firmare: le loro chiavi si aprono con la chiave principale",
	"rogito audit verify tells more; compare with an export or a backup, and find out who changed the database":                                                        "rogito audit verify dice di più; confronta con un'esportazione o un backup e cerca chi ha cambiato la base di dati",
	"cannot be verified: %v": "non si può verificare: %s",
	"%d entries verify, and the %s holds no checkpoint: a database that was put back would not be noticed":   "%s voci sono integre, ma in %s non c'è alcun checkpoint: una base di dati riportata indietro non si noterebbe",
	"start the server: it witnesses a checkpoint within a minute; else check the data folder and the bucket": "avvia il server: entro un minuto deposita un checkpoint; altrimenti controlla la cartella dei dati e il bucket",
	"%d entries and %d checkpoints verify; not proved: %s":                                                   "%s voci e %s checkpoint sono integri; non dimostrato: %s",
	"check the folder or bucket": "controlla la cartella o il bucket",
	"%s: not configured":         "%s: non configurato",
	"%s: it cannot be asked: %s": "%s: non si può interrogare: %s",
	"%s: it holds no checkpoint: a database that was put back whole would not be noticed by it":                        "%s: non contiene alcun checkpoint: una base di dati riportata indietro per intero gli sfuggirebbe",
	"%s: the last %d entries are newer than its last checkpoint":                                                       "%s: le ultime %s voci sono più recenti del suo ultimo checkpoint",
	"%s: %d lines or objects cannot be read (torn by a power cut, or changed)":                                         "%s: %s righe o oggetti non si possono leggere (interrotti da un calo di corrente, o cambiati)",
	"time-stamps of an outside authority: none":                                                                        "marche temporali di un'autorità esterna: nessuna",
	"%d entries are written and wait for their place":                                                                  "%s voci sono scritte e attendono il loro posto",
	"%d entries are dated more than ten minutes before one ahead of them, the first is entry %d: a clock was set back": "%s voci sono datate più di dieci minuti prima di una precedente, la prima è la voce %s: un orologio è stato portato indietro",
	"%d of %d checkpoints have no time-stamp":                                                                          "%s checkpoint su %s non hanno marca temporale",
	"witness file":                                   "file testimone",
	"witness in a bucket":                            "testimone in un bucket",
	"missing or not to be believed: %s":              "mancanti o non attendibili: %s",
	"past their next update: %s":                     "oltre la data del prossimo aggiornamento: %s",
	"%d files are what they were":                    "%s file sono come erano",
	"%d files are there (their bytes were not read)": "%s file ci sono (il contenuto non è stato letto)",
	"%d files of the latest records are there (their bytes were not read)":                                                                                       "%s file delle pratiche più recenti ci sono (il contenuto non è stato letto)",
	"bring the blobs back from a backup: what cannot be had again is lost, and its record says what it was":                                                      "riporta i documenti da un backup: ciò che non si può riavere è perduto, e la sua pratica dice che cos'era",
	"none are loaded and fetching is switched off: no European signature can be recognised":                                                                      "nessuno è caricato e lo scaricamento è disattivato: nessuna firma europea può essere riconosciuta",
	"none are loaded yet: no European signature can be recognised":                                                                                               "nessuno è ancora caricato: nessuna firma europea può essere riconosciuta",
	"rogito trust import PATH brings them, or switch fetching on (trust.lists, network.offline)":                                                                 "caricali con rogito trust import PERCORSO, o attiva lo scaricamento (trust.lists, network.offline)",
	"nothing was changed: %d entries since the last checkpoint were read, and those before it have the sum that it names; rogito audit verify reads all of them": "nulla è stato cambiato: sono state lette le %s voci successive all'ultimo punto di controllo, e le precedenti hanno la somma indicata lì; rogito audit verify le rilegge tutte",
	"rogito trust update, or on a machine without network rogito trust import PATH":                                                                              "rogito trust update, o su una macchina senza rete rogito trust import PERCORSO",
	"%d lists, the list of lists is number %d of %s":                                                                                                             "%s elenchi; l'elenco degli elenchi è il numero %s del %s",
	"rogito trust update": "rogito trust update",
	"bring newer ones: rogito trust export on a machine with network, rogito trust import here": "porta quelli nuovi: rogito trust export su una macchina con la rete, rogito trust import qui",
	"of %d lists, %s":           "su %s elenchi, %s",
	"set the clock":             "regola l'orologio",
	"%s is not valid before %s": "%s non è valido prima del %s",
	"restart the server: it renews the certificates of its authority": "riavvia il server: rinnova i certificati della sua autorità",
	"%s ends on %s":               "%s scade il %s",
	"cannot be counted: %v":       "non si possono contare: %s",
	"%d of %d end within 30 days": "%s di %s scadono entro 30 giorni",
	"have their holders buy new ones; rogito cert list shows them": "chiedi ai titolari di acquistarne di nuovi; rogito cert list li mostra",
	"%d issued by %s":                       "%s emessi da %s",
	"%s; it does not name %s":               "%s; non nomina %s",
	"nobody knows how to ask it":            "non si sa come interrogarlo",
	"%s, protocol %s: version %s is spoken": "%s, protocollo %s: si parla la versione %s",
	"valid until %s":                        "valido fino al %s",
	"valid until %s, which is soon":         "valido fino al %s, cioè ancora per poco",
	"ended %s":                              "scaduto il %s",
	"policy and name fit":                   "la policy e il nome corrispondono",
	"the policy %s is missing: AgID will not take the metadata":                                    "manca la policy %s: AgID non accetterà i metadati",
	"the subject's uri (2.5.4.83) is not identify.spid.entity_id: AgID will not take the metadata": "l'uri del soggetto (2.5.4.83) non è identify.spid.entity_id: AgID non accetterà i metadati",
	"identify.spid.idp_metadata names none: SPID is not offered":                                   "identify.spid.idp_metadata non ne indica: SPID non viene offerto",
	"%d identity providers":                                         "%s gestori dell'identità",
	"never read: %v":                                                "mai letti: %s",
	"read %s ago, not since: %v":                                    "letti %s fa, non più da allora: %s",
	"its metadata ended %s":                                         "i suoi metadati sono scaduti il %s",
	"it has no certificate that is valid now":                       "non ha un certificato valido in questo momento",
	"it can be reached without TLS only":                            "si raggiunge solo senza TLS",
	"it takes requests neither by HTTP-POST nor by HTTP-Redirect":   "non accetta richieste né con HTTP-POST né con HTTP-Redirect",
	"it cannot be reached: %v":                                      "non si raggiunge: %s",
	"it can be reached; %s":                                         "si raggiunge; %s",
	"%s: no end":                                                    "%s: senza scadenza",
	"%s: until %s":                                                  "%s: fino al %s",
	"%s: statement until %s":                                        "%s: dichiarazione valida fino al %s",
	"%s: trust chain until %s":                                      "%s: catena di fiducia valida fino al %s",
	"%s vouches for %s":                                             "%s garantisce per %s",
	"%s does not know our federation key %s":                        "%s non conosce la nostra chiave di federazione %s",
	"there is none":                                                 "non ce n'è nessuno",
	"there is none: providers refuse a relying party without":       "non ce n'è nessuno: i gestori rifiutano un servizio che non lo ha",
	"%s: it was issued to %s":                                       "%s: è stato rilasciato a %s",
	"%d on the Italian trusted list, %d in files":                   "%s nell'elenco di fiducia italiano, %s da file",
	"can be fetched":                                                "si possono scaricare",
	"cannot be fetched (network.offline): no card will be accepted": "non si possono scaricare (network.offline): nessuna carta sarà accettata",
	"its certificate cannot be read: %v":                            "il suo certificato non si può leggere: %s",
	"its certificate ends on %s":                                    "il suo certificato scade il %s",
	"%s ended on %s":                                                "%s è scaduto il %s",
	"rogito provider test %s says it again; docs/providers.md says what a provider needs": "rogito provider test %s lo ripete; docs/providers.md dice che cosa serve a un fornitore",
}

// sentences are forms of English sentences, each with what it says in both
// languages.
type sentences []struct {
	form *regexp.Regexp
	text look.Text
}

var verb = regexp.MustCompile(`%(?:\\?\.\d)?[a-z]`)

// said makes sentences of forms as fmt has them.
func said(italian map[string]string) (all sentences) {
	for english, other := range italian {
		form := verb.ReplaceAllString(regexp.QuoteMeta(english), "(.*)")
		form = strings.ReplaceAll(form, "%%", "%")
		all = append(all, struct {
			form *regexp.Regexp
			text look.Text
		}{regexp.MustCompile("(?s)^" + form + "$"), look.Text{English: verb.ReplaceAllString(english, "%s"), Italian: other}})
	}
	return all
}

// in is a sentence in both languages; one that has no form here is English in
// both. Of several forms that fit the most literal one counts.
func (all sentences) in(text string) look.Text {
	best, args := -1, []string(nil)
	for i, s := range all {
		if m := s.form.FindStringSubmatch(text); m != nil && (best < 0 || len(s.form.String()) > len(all[best].form.String())) {
			best, args = i, m[1:]
		}
	}
	if best < 0 {
		return look.Same(text)
	}
	english, italian := make([]any, len(args)), make([]any, len(args))
	for i, v := range args { // a value may be a list of sentences
		english[i] = v
		parts := strings.Split(v, "; ")
		for k, part := range parts {
			parts[k] = all.in(part).Italian
		}
		italian[i] = strings.Join(parts, "; ")
	}
	return look.Text{English: all[best].text.With(english...).English, Italian: all[best].text.With(italian...).Italian}
}
