{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "reeve.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "reeve.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "reeve.name" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* What identifies the pods of one service. Of a dict: root, service. */}}
{{- define "reeve.selector" -}}
app.kubernetes.io/name: reeve
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .service }}
{{- end -}}

{{- define "reeve.labels" -}}
{{ include "reeve.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "reeve.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* The services, each with its program and its own values: a list of dicts, as JSON. */}}
{{- define "reeve.services" -}}
{{- $services := list -}}
{{- range $service := list "submission" "scheduler" "supervisor" "console" -}}
{{- $services = append $services (dict "name" $service "program" $service "values" (index $.Values $service)) -}}
{{- end -}}
{{- range $agent := .Values.agents -}}
{{- $services = append $services (dict "name" (printf "agent-%s" $agent.name) "program" "agent" "agent" $agent.name "values" $agent) -}}
{{- end -}}
{{- toJson $services -}}
{{- end -}}

{{- define "reeve.scheme" -}}
{{- if .Values.tls.secretName }}https{{ else }}http{{ end -}}
{{- end -}}

{{/* The names of the services within the cluster. */}}
{{- define "reeve.hosts" -}}
{{- $hosts := list -}}
{{- range $service := include "reeve.services" . | fromJsonArray -}}
{{- $name := printf "%s-%s" (include "reeve.name" $) $service.name -}}
{{- $hosts = append $hosts $name -}}
{{- $hosts = append $hosts (printf "%s.%s" $name $.Release.Namespace) -}}
{{- $hosts = append $hosts (printf "%s.%s.svc" $name $.Release.Namespace) -}}
{{- $hosts = append $hosts (printf "%s-pods" $name) -}}
{{- end -}}
{{- concat $hosts .Values.allowedHosts | join "," -}}
{{- end -}}

{{/* One KEY = VALUE a line. Numbers are whole where they can be: Helm reads them as floats. */}}
{{- define "reeve.properties" -}}
{{- range $key, $value := . }}
{{ $key }} = {{ if kindIs "float64" $value }}{{ if eq (floor $value) $value }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- end -}}

{{/* The pod of a service. Of a dict: root, service (as in reeve.services), store. */}}
{{- define "reeve.pod" -}}
{{- $root := .root -}}
{{- $service := .service -}}
{{- $values := $service.values -}}
metadata:
  labels:
    {{- include "reeve.labels" (dict "root" $root "service" $service.name) | nindent 4 }}
  annotations:
    checksum/config: {{ include (print $root.Template.BasePath "/config.yaml") $root | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "reeve.account" $root }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 60
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    {{- toYaml $root.Values.podSecurityContext | nindent 4 }}
  containers:
    - name: reeve
      image: {{ include "reeve.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [run, {{ $service.program }}]
      env:
        - name: REEVE_CONFIG
          value: /etc/reeve/{{ $service.name }}.properties
        - name: REEVE_INSTANCE_ID
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        {{- with $values.environment }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: http, containerPort: 8080}
      startupProbe:
        {{- include "reeve.probe" (dict "root" $root "path" "/livez") | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        {{- include "reeve.probe" (dict "root" $root "path" "/livez") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        {{- include "reeve.probe" (dict "root" $root "path" "/readyz") | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 5
      {{- with $values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: config, mountPath: /etc/reeve, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        - {name: data, mountPath: /var/lib/reeve}
        - {name: secret-tokens, mountPath: /etc/reeve-tokens, readOnly: true}
        {{- if $root.Values.tokens.viewerSecretName }}
        - {name: secret-viewer, mountPath: /etc/reeve-viewer, readOnly: true}
        {{- end }}
        {{- if $root.Values.tls.secretName }}
        - {name: secret-tls, mountPath: /etc/reeve-tls, readOnly: true}
        {{- end }}
        {{- range $root.Values.secrets }}
        - {name: secret-of-{{ .name }}, mountPath: /etc/reeve-secrets/{{ .name }}, readOnly: true}
        {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if $values.topologySpreadConstraints }}
    {{- toYaml $values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "reeve.selector" (dict "root" $root "service" $service.name) | nindent 10 }}
    {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "reeve.name" $root }}}
    - name: tmp
      emptyDir: {sizeLimit: 64Mi}
    {{- if not .store }}
    - name: data
      emptyDir: {sizeLimit: 1Gi}
    {{- else if not $root.Values.persistence.enabled }}
    - name: data
      emptyDir: {sizeLimit: {{ $root.Values.persistence.size }}}
    {{- end }}
    {{- include "reeve.secrets" $root | nindent 4 }}
{{- end -}}

{{- define "reeve.secrets" -}}
- name: secret-tokens
  secret: {secretName: {{ .Values.tokens.secretName }}, defaultMode: 0440}
{{- with .Values.tokens.viewerSecretName }}
- name: secret-viewer
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- with .Values.tls.secretName }}
- name: secret-tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- range .Values.secrets }}
- name: secret-of-{{ .name }}
  secret: {secretName: {{ .secretName }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "reeve.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ include "reeve.scheme" .root | upper }}
  httpHeaders: [{name: Host, value: 127.0.0.1}]
{{- end -}}
