{{/* The name of all resources, and their label app.kubernetes.io/name. */}}
{{- define "manager-edge.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "manager-edge.labels" -}}
app.kubernetes.io/name: {{ include "manager-edge.name" . }}
{{- end -}}

{{/*
The configuration of the edge as YAML. Fails if it is missing or no YAML, or if pods would not accept connections of
other machines.
*/}}
{{- define "manager-edge.settings" -}}
{{- $text := required "config is missing: pass the configuration of the edge with --set-file config=edge.yaml" .Values.config -}}
{{- $settings := fromYaml $text -}}
{{- if hasKey $settings "Error" -}}
{{- fail (printf "config is no YAML: %s" $settings.Error) -}}
{{- end -}}
{{- range $section := list "listen" "operations" -}}
{{- $host := dig $section "host" "127.0.0.1" $settings -}}
{{- if not (has $host (list "0.0.0.0" "::")) -}}
{{- fail (printf "config: %s.host is %s; write 0.0.0.0, because the kubelet and other pods connect from other machines" $section $host) -}}
{{- end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The port of a listener: list of settings, section and default. */}}
{{- define "manager-edge.port" -}}
{{- dig (index . 1) "port" (index . 2) (index . 0) | int -}}
{{- end -}}
{{- define "manager-edge.apiPort" -}}
{{- include "manager-edge.port" (list (include "manager-edge.settings" . | fromYaml) "listen" 55000) -}}
{{- end -}}
{{- define "manager-edge.operationsPort" -}}
{{- include "manager-edge.port" (list (include "manager-edge.settings" . | fromYaml) "operations" 55001) -}}
{{- end -}}

{{/* https if the operations listener has a certificate. */}}
{{- define "manager-edge.operationsScheme" -}}
{{- $tls := dig "operations" "tls" nil (include "manager-edge.settings" . | fromYaml) -}}
{{- ternary "https" "http" (kindIs "map" $tls) -}}
{{- end -}}

{{/*
The addresses and ports of one URL, one "CIDR port" per line: list of URL, default port and known ranges (may be empty).
Without ranges, only a host that is an IPv4 address has a line.
*/}}
{{- define "manager-edge.targets" -}}
{{- $parts := splitList ":" (urlParse (index . 0)).host -}}
{{- $port := ternary (last $parts) (index . 1) (gt (len $parts) 1) -}}
{{- $ranges := index . 2 -}}
{{- if and (not $ranges) (regexMatch "^[0-9.]+$" (first $parts)) -}}
{{- $ranges = list (printf "%s/32" (first $parts)) -}}
{{- end -}}
{{- range $ranges }}{{ printf "%s %v\n" . $port }}{{ end -}}
{{- end -}}
