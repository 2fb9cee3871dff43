package publication

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// supply is an archive in the official forms: one municipality, one zone.
func supply(t testing.TB, semester, cadastral string) []byte {
	t.Helper()
	const common = "NORD-OVEST;LOMBARDIA;MI;3015146;F2AA; ;%s;PROVA;B;"
	head := "Area_territoriale;Regione;Prov;Comune_ISTAT;Comune_cat;Sez;Comune_amm;Comune_descrizione;Fascia;"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range map[string]string{
		"v": "Quotazioni Immobiliari : Valori di Mercato - Semestre " + semester + " - elaborazione del 27-APR-19\n" + head +
			"Zona;LinkZona;Cod_Tip;Descr_Tipologia;Stato;Stato_prev;Compr_min;Compr_max;Sup_NL_compr;Loc_min;Loc_max;Sup_NL_loc;\n" +
			fmt.Sprintf(common, cadastral) + "B1;MI1;20;Abitazioni civili;NORMALE;P;810;1000;L;4;5,1;L;\n",
		"z": "Quotazioni Immobiliari : Informazioni di Zona OMI - Semestre " + semester + " - elaborazione del 27-APR-19\n" + head +
			"Zona_Descr;Zona;LinkZona;Cod_tip_prev;Descr_tip_prev;Stato_prev;Microzona;\n" +
			fmt.Sprintf(common, cadastral) + "'CENTRO';B1;MI1;20;Abitazioni civili;N;0;\n",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (k *Service) take(t testing.TB, semester, cadastral string) {
	t.Helper()
	b := supply(t, semester, cadastral)
	if _, err := k.Import(t.Context(), []omi.Input{{Content: bytes.NewReader(b), Size: int64(len(b))}}, omi.ImportOptions{AllowPartial: true}); err != nil {
		t.Fatal(err)
	}
}

// holds tells what a keeper serves: semesters with their municipality, the active
// one marked.
func (k *Service) holds() string {
	var all []string
	for _, ix := range k.Current().All() {
		m, _ := ix.Municipality(0)
		s := ix.Semester().String() + "=" + m.CadastralCode
		if ix == k.Current().Active() {
			s += "*"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// TestServersEndOnTheSame has two servers on one database, each with a folder of
// its own, and changes things now here, now there.
func TestServersEndOnTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		blobs, err := blob.Open(t.Context(), blob.Config{Data: t.TempDir()}, m)
		if err != nil {
			t.Fatal(err)
		}
		node := func(dir string) *Service {
			k, err := Open(Config{Dir: dir, DB: db, Blobs: blobs})
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		dirA, dirB := t.TempDir(), t.TempDir()
		a, b := node(dirA), node(dirB)
		meet := func(want string) {
			t.Helper()
			for _, k := range []*Service{a, b, a, b} {
				if _, err := k.library.Refresh(); err != nil {
					t.Fatal(err)
				}
				if err := k.Share(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if a.holds() != want || b.holds() != want {
				t.Fatalf("a holds %q, b holds %q, want %q", a.holds(), b.holds(), want)
			}
		}
		meet("2026/1=Z999*")
		a.take(t, "2018/1", "F205")
		meet("2018/1=F205*")
		b.take(t, "2018/2", "A001")
		meet("2018/2=A001* 2018/1=F205")
		if err := a.library.Use(omi.Semester{Year: 2018, Half: 1}); err != nil {
			t.Fatal(err)
		}
		meet("2018/2=A001 2018/1=F205*")
		b.take(t, "2018/1", "B002") // the same semester, supplied again
		meet("2018/2=A001 2018/1=B002*")
		if err := b.library.Use(omi.Semester{}); err != nil {
			t.Fatal(err)
		}
		meet("2018/2=A001* 2018/1=B002")
		if err := a.library.Remove(omi.Semester{Year: 2018, Half: 2}); err != nil {
			t.Fatal(err)
		}
		meet("2018/1=B002*")
		b = node(dirB) // a restart changes nothing
		meet("2018/1=B002*")
		b = node(t.TempDir()) // a third server starts empty
		meet("2018/1=B002*")
		n := 0
		if err := blobs.List(t.Context(), time.Now().Add(time.Hour), func(string) error { n++; return nil }); err != nil || n != 1 {
			t.Errorf("%d blobs are left (%v), want one", n, err)
		}
	})
}

// logged gathers what a keeper says.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestRunTakesOverAndWatches(t *testing.T) {
	dir, watched := t.TempDir(), t.TempDir()
	log := &logged{}
	k, err := Open(Config{Dir: dir, WatchDir: watched, Partial: true, Interval: 20 * time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	// another process imports into the same folder
	other, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	other.take(t, "2018/1", "F205")
	await.Until(t, "the other process's import", func() bool { return k.holds() == "2018/1=F205*" })
	// an operator drops an archive, named as the Agenzia names it, and a damaged one
	drop := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(watched, name), b, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	drop("QI123_RSSMRA80A01H501U.zip", supply(t, "2018/2", "A001"))
	await.Until(t, "the watched import", func() bool { return k.holds() == "2018/2=A001* 2018/1=F205" })
	drop("QI124_RSSMRA80A01H501U.zip", supply(t, "2019/1", "A001")[:150])
	await.Until(t, "the refusal", func() bool { return strings.Contains(log.String(), "refused") })
	stop()
	<-done
	if k.holds() != "2018/2=A001* 2018/1=F205" {
		t.Errorf("after a refusal: %s", k.holds())
	}
	if strings.Contains(log.String(), "RSSMRA") {
		t.Errorf("the log names an archive: %s", log)
	}
}
