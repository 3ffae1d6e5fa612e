{{- define "heddle.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "heddle.selector" -}}
app.kubernetes.io/name: heddle
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "heddle.labels" -}}
{{ include "heddle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "heddle.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* Names of the service, as clients in and out of the namespace write it. */}}
{{- define "heddle.hostNames" -}}
{{- $name := include "heddle.fullname" . -}}
{{- $inside := printf "%s.%s.svc" $name .Release.Namespace -}}
{{- $names := list $name (printf "%s.%s" $name .Release.Namespace) $inside (printf "%s.%s" $inside .Values.clusterDomain) -}}
{{- join "," (concat $names .Values.hostNames) -}}
{{- end -}}

{{/* Ids of [[subcluster]] in the configuration; a configuration that is no TOML ends the rendering. */}}
{{- define "heddle.subclusters" -}}
{{- $parsed := fromToml .Values.configuration -}}
{{- with $parsed.Error }}{{ fail (printf "configuration: %s" .) }}{{ end -}}
{{- range $parsed.subcluster }}{{ required "configuration: a [[subcluster]] has no id" .id }}{{ "\n" }}{{ end -}}
{{- end -}}

{{- define "heddle.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "heddle.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/*
Kubernetes shows secrets to the pod's group; Heddle takes only files that their owner alone reads. Of certificates of
masters a pod keeps those that the variable MASTER names: gm.NAME or lm.CLUSTER.
*/}}
{{- define "heddle.initContainers" -}}
- name: secrets
  image: {{ include "heddle.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if .Values.mastersTLS }}
  command:
    - sh
    - -ec
    - |
      for file in /secrets/*; do
        case "${file##*/}" in
          gm.*|lm.*) ;;
          *) install -m 0600 -D -t /run/heddle/secrets "$file" ;;
        esac
      done
      install -m 0600 "/secrets/$MASTER.crt" /run/heddle/secrets/masters.crt
      install -m 0600 "/secrets/$MASTER.key" /run/heddle/secrets/masters.key
  {{- else }}
  command: [sh, -c, "install -m 0600 -D -t /run/heddle/secrets /secrets/*"]
  {{- end }}
  securityContext:
    {{- include "heddle.containerSecurity" . | nindent 4 }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  volumeMounts:
    - {name: secrets, mountPath: /secrets, readOnly: true}
    - {name: run, mountPath: /run/heddle}
{{- end -}}

{{/* The secret of a part: of Global Masters, or of the Local Masters of the sub-cluster that .subcluster names. */}}
{{- define "heddle.secretName" -}}
{{- $values := .root.Values -}}
{{- if .subcluster -}}
{{- $values.localMaster.secretName | default (printf "%s-lm-%s" $values.secretName .subcluster) -}}
{{- else -}}
{{- $values.secretName -}}
{{- end -}}
{{- end -}}

{{/* Volumes of a part: .root and .subcluster as above. */}}
{{- define "heddle.volumes" -}}
- name: configuration
  configMap: {name: {{ include "heddle.fullname" .root }}}
- name: secrets
  secret: {secretName: {{ include "heddle.secretName" . }}}
{{- if not .subcluster }}
- name: audit
  {{- toYaml (.root.Values.audit.volume | default (dict "emptyDir" dict)) | nindent 2 }}
{{- end }}
- name: run
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
- name: work
  emptyDir: {}
{{- end -}}

{{- define "heddle.volumeMounts" -}}
- {name: configuration, mountPath: /etc/heddle, readOnly: true}
- {name: run, mountPath: /run/heddle, readOnly: true}
- {name: work, mountPath: /var/lib/heddle}
{{- end -}}

{{/* Variables of a part: .root and .subcluster as above. No Local Master reads the file of security.secret. */}}
{{- define "heddle.environment" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: HEDDLE_STORE_URL
  valueFrom: {secretKeyRef: {name: {{ include "heddle.secretName" . }}, key: store-url}}
- {name: HEDDLE_MASTERS_LISTEN, value: "$(POD_IP):8700"}
{{- if .root.Values.mastersTLS }}
- {name: HEDDLE_MASTERS_TLS_CERTIFICATE, value: /run/heddle/secrets/masters.crt}
- {name: HEDDLE_MASTERS_TLS_KEY, value: /run/heddle/secrets/masters.key}
- {name: HEDDLE_MASTERS_TLS_CA, value: /run/heddle/secrets/masters-ca.crt}
{{- else }}
- {name: HEDDLE_MASTERS_SECRET_FILE, value: /run/heddle/secrets/masters.secret}
{{- end }}
- {name: HEDDLE_SECURITY_SECRET_FILE, value: /run/heddle/secrets/security.secret}
- {name: HEDDLE_SERVER_ALLOW_REMOTE, value: "true"}
{{- end -}}

{{- define "heddle.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
