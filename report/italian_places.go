package report

// italianPlaces are said of a place in a file, whose name stands before them:
// "object 5 0 is not closed by endobj".
var italianPlaces = map[string]string{
	"and the stream beside it contradict each other about object %d":                   "e il flusso accanto si contraddicono sull'oggetto %d",
	"and the stream beside it have different Prev entries":                             "e il flusso accanto hanno voci Prev diverse",
	"begins in the middle of a number":                                                 "comincia in mezzo a un numero",
	"defines object %d, but its Size is %d":                                            "definisce l'oggetto %d, ma il suo Size è %d",
	"has a Prev that is no whole number":                                               "ha un Prev che non è un numero intero",
	"has a comment in its lines":                                                       "ha un commento nelle sue righe",
	"has a stream that does not begin on a new line":                                   "ha un flusso che non comincia su una riga nuova",
	"has a stream whose Length a later revision changes":                               "ha un flusso di cui una revisione successiva cambia Length",
	"has a stream whose Length is wrong":                                               "ha un flusso con Length errato",
	"has a stream without a valid Length":                                              "ha un flusso senza un Length valido",
	"has an object before it":                                                          "ha un oggetto prima di sé",
	"has another Encrypt entry than the end of the file":                               "ha un'altra voce Encrypt rispetto alla fine del file",
	"holds the encryption, and a later revision replaces it":                           "contiene la cifratura, e una revisione successiva la sostituisce",
	"too much to compare":                                                              "c'è troppo da confrontare",
	"has no Size":                                                                      "non ha Size",
	"has no clear startxref":                                                           "non ha uno startxref univoco",
	"has no startxref in its last %d bytes":                                            "non ha startxref negli ultimi %d byte",
	"has no trailer":                                                                   "non ha trailer",
	"has no valid cross-reference section at its end, so each reader rebuilds its own": "non ha in fondo una sezione di riferimenti valida, perciò ogni lettore se la ricostruisce",
	"has startxref without a number":                                                   "ha startxref senza numero",
	"holds a comment of more than %d bytes":                                            "contiene un commento di più di %d byte",
	"holds an object, trailer or header in a comment":                                  "contiene un oggetto, un trailer o un'intestazione in un commento",
	"holds bytes that belong to no object":                                             "contiene byte che non appartengono ad alcun oggetto",
	"is an object stream that cannot be read":                                          "è un flusso di oggetti che non può essere letto",
	"is an object stream that holds a number twice":                                    "è un flusso di oggetti che contiene un numero due volte",
	"is an object stream that holds object %d, which no table of its revision names":   "è un flusso di oggetti che contiene l'oggetto %d, che nessuna tabella della sua revisione nomina",
	"is an object stream that holds object %d, which the tables say is elsewhere":      "è un flusso di oggetti che contiene l'oggetto %d, che secondo le tabelle è altrove",
	"is an object stream whose index names fewer objects than it holds":                "è un flusso di oggetti il cui indice nomina meno oggetti di quanti ne contenga",
	"is an object stream whose objects are not in order":                               "è un flusso di oggetti non in ordine",
	"is an object stream without data":                                                 "è un flusso di oggetti senza dati",
	"is followed by bytes that belong to no object":                                    "è seguito da byte che non appartengono ad alcun oggetto",
	"is followed by no end of file":                                                    "non è seguito da una fine del file",
	"is in object stream %d, which a later revision replaces":                          "è nel flusso di oggetti %d, che una revisione successiva sostituisce",
	"is in object stream %d, which is not in the file":                                 "è nel flusso di oggetti %d, che non è nel file",
	"is not at offset %d, where its table says":                                        "non è in posizione %d, come dice la sua tabella",
	"is nothing but a reference to another object":                                     "non è altro che un rimando a un altro oggetto",
	"is not closed by endobj":                                                          "non è chiuso da endobj",
	"is not followed by the section that startxref names":                              "non è seguito dalla sezione indicata da startxref",
	"is not in object stream %d where its table says":                                  "non è nel flusso di oggetti %d, come dice la sua tabella",
	"lacks %%%%EOF after startxref":                                                    "manca di %%%%EOF dopo startxref",
	"refers to %s, but the object has generation %d":                                   "si riferisce a %s, ma l'oggetto ha generazione %d",
	"refers to an earlier revision that stands behind it":                              "si riferisce a una revisione precedente che sta dopo",
	"refers to object %d, which only revision %d defines":                              "si riferisce all'oggetto %d, definito solo dalla revisione %d",
	"refers to object %d, which revision %d takes away":                                "si riferisce all'oggetto %d, che la revisione %d toglie",
	"stands at byte %d, but offsets are not counted from there":                        "è al byte %d, ma le posizioni non sono contate da lì",
	"stands at offset %d, and so does %s":                                              "è in posizione %d, e così pure %s",
	"stands at offset %d, outside the file":                                            "è in posizione %d, fuori dal file",
	"stands at offset %d, within another object":                                       "è in posizione %d, dentro un altro oggetto",
	"has a hexadecimal string with other characters":                                   "ha una stringa esadecimale con altri caratteri",
	"has a word that readers take differently":                                         "ha una parola che i lettori intendono in modi diversi",
	"has a reference out of bounds":                                                    "ha un riferimento fuori dai limiti",
	"nests too deep":                                                                   "ha un annidamento troppo profondo",
	"has a dictionary that ends with one bracket":                                      "ha un dizionario che finisce con una sola parentesi",
	"has the key /%s twice in one dictionary":                                          "ha la chiave /%s due volte in un dizionario",
	"has the key /%s without a value":                                                  "ha la chiave /%s senza valore",
	"has a dictionary key that is no name":                                             "ha una chiave di dizionario che non è un nome",
	"ends within an object":                                                            "finisce dentro un oggetto",
	"has a delimiter out of place":                                                     "ha un delimitatore fuori posto",
	"overlaps what stands behind it":                                                   "si sovrappone a ciò che segue",
	"has a stream beside it, like too many others to be compared":                      "ha un flusso accanto, come troppi altri per essere confrontati",
}

// placed are the same with the place before them.
func placed(table map[string]string) map[string]string {
	out := make(map[string]string, 2*len(table))
	for english, text := range table {
		out[english], out["%s "+english] = text, "%s "+text
	}
	return out
}
