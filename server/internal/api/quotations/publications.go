package quotations

import (
	"context"
	"errors"
	"strconv"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/upload"
)

type noInput struct{}

func (o *OMI) publications(ctx context.Context, _ *noInput) (api.Reply[[]publicationWire], error) {
	set := o.Publications.Current()
	list := []publicationWire{}
	for _, ix := range set.All() {
		list = append(list, publicationOf(ix.Report(), ix == set.Active()))
	}
	return api.Found(list), nil
}

func publicationOf(r omi.Report, active bool) publicationWire {
	p := publicationWire{
		Semester: r.Semester, Municipalities: r.Municipalities, Zones: r.Zones, Values: r.Values,
		Active: active, Sample: r.Sample, Report: r,
	}
	if r.ProcessedAt != "" {
		p.ProcessedAt = &r.ProcessedAt
	}
	return p
}

// publicationForm describes the form of POST /IT-omi/publications.
type publicationForm struct {
	File         []string `json:"file" format:"binary" doc:"archives of the official supply, or the files in them"`
	AllowMixed   bool     `json:"allow_mixed,omitempty" doc:"take files of different semesters: that of the values rules"`
	AllowPartial bool     `json:"allowPartial,omitempty" doc:"take a publication in which less than half of the zones have a perimeter, or with files that their names hide"`
}

type publicationInput struct {
	Body api.Upload[publicationForm]
}

// mostArchive is the largest file of an upload.
const mostArchive = 1 << 30

func (o *OMI) importPublication(ctx context.Context, in *publicationInput) (api.Reply[publicationWire], error) {
	var inputs []omi.Input
	for _, p := range in.Body.Form("file") {
		src, err := content(p)
		if err != nil {
			return api.Reply[publicationWire]{}, err
		}
		inputs = append(inputs, omi.Input{Content: src, Size: src.Size()})
	}
	if len(inputs) == 0 {
		return api.Reply[publicationWire]{}, fault.New(fault.PublicationRefused, "publication refused: send it as multipart/form-data in the field file: -F file=@FILE")
	}
	report, err := o.Publications.Import(ctx, inputs, omi.ImportOptions{AllowMixed: in.says("allow_mixed"), AllowPartial: in.says("allowPartial")})
	if err != nil {
		return api.Reply[publicationWire]{}, err
	}
	// What was imported is imported, whether this can be kept or not: sending
	// it again would only import it again.
	if err := idempotency.ClaimFrom(ctx).Keep(context.WithoutCancel(ctx), []byte(report.Semester)); err != nil {
		o.log.ErrorContext(ctx, "keep an idempotent answer", "error", err)
	}
	active := o.Publications.Current().Active()
	return api.Created(publicationOf(report, active != nil && active.Semester().String() == report.Semester)), nil
}

// importedPublication shows a publication again, as it is now.
func (o *OMI) importedPublication(_ context.Context, r idempotency.Replay) (api.Reply[publicationWire], error) {
	set := o.Publications.Current()
	semester, err := omi.ParseSemester(string(r.Answer))
	if err != nil {
		return api.Reply[publicationWire]{}, err
	}
	ix, ok := set.Semester(semester)
	if !ok {
		return api.Reply[publicationWire]{}, fault.New(fault.NotFound, "the publication of %s, which this key imported, was removed since", semester)
	}
	return api.Created(publicationOf(ix.Report(), ix == set.Active())), nil
}

// content is the file of a part as it was sent.
func content(p upload.Part) (ades.Source, error) {
	src, err := p.Text.Document(mostArchive)
	if errors.Is(err, upload.ErrBase64) {
		return nil, fault.New(fault.PublicationRefused, "publication refused: a part named file is not a file")
	}
	return src, err
}

// says reads a field that allows something.
func (in *publicationInput) says(name string) bool {
	for _, p := range in.Body.Form(name) {
		s, err := p.Text.String(16)
		if on, bad := strconv.ParseBool(s); err == nil && bad == nil && on {
			return true
		}
	}
	return false
}
