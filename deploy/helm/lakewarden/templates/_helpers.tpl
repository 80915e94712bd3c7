{{- define "lakewarden.labels" -}}
app.kubernetes.io/name: lakewarden
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "lakewarden.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* what every pod shares: no rights, no file of its own to write but /tmp and var */}}
{{- define "lakewarden.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  - name: var
    {{- if .Values.var.existingClaim }}
    persistentVolumeClaim: {claimName: {{ .Values.var.existingClaim }}}
    {{- else }}
    emptyDir: {}
    {{- end }}
{{- end }}

{{- define "lakewarden.container" -}}
image: {{ include "lakewarden.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret }}}
env:
  - {name: ALLOWED_HOSTS, value: {{ .Values.host | quote }}}
  - {name: LAKEWARDEN_URL, value: {{ printf "https://%s" .Values.host | quote }}}
  {{- with .Values.proxyAddresses }}
  - {name: LAKEWARDEN_PROXY_ADDRESSES, value: {{ join "," . | quote }}}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | toString | quote }}}
  {{- end }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: var, mountPath: /var/lib/lakewarden}
{{- end }}
