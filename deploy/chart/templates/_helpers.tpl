{{- define "rogito.labels" -}}
app.kubernetes.io/name: rogito
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "rogito.selector" -}}
app.kubernetes.io/name: rogito
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rogito.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - {name: ROGITO_PRODUCTION, value: "true"}
  - {name: ROGITO_CONFIG, value: /etc/rogito/rogito.yaml}
  - name: ROGITO_MASTER_KEY
    valueFrom: {secretKeyRef: {name: {{ .Values.secrets | quote }}, key: master_key}}
  - name: ROGITO_S3_SECRET_KEY
    valueFrom: {secretKeyRef: {name: {{ .Values.secrets | quote }}, key: s3_secret_key, optional: true}}
  - name: ROGITO_MAIL_PASSWORD
    valueFrom: {secretKeyRef: {name: {{ .Values.secrets | quote }}, key: mail_password, optional: true}}
  {{- if hasPrefix "postgres" (.Values.config.database | default "") }}
  - {name: ROGITO_DATABASE_PASSWORD_FILE, value: /run/secrets/rogito/database_password}
  {{- end }}
volumeMounts:
  - {name: data, mountPath: /data}
  - {name: config, mountPath: /etc/rogito, readOnly: true}
  - {name: secrets, mountPath: /run/secrets/rogito, readOnly: true}
{{- end }}

{{- define "rogito.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
automountServiceAccountToken: false
{{- end }}

{{- define "rogito.volumes" -}}
- name: config
  configMap: {name: {{ .Release.Name }}}
- name: secrets
  secret: {secretName: {{ .Values.secrets | quote }}, defaultMode: 0440}
{{- end }}
