{{- define "benefits-sidecar.labels" -}}
app.kubernetes.io/name: benefits-sidecar
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The Pod's template, which both kinds of workload have. */}}
{{- define "benefits-sidecar.pod" -}}
metadata:
  labels:
    {{- include "benefits-sidecar.labels" . | nindent 4 }}
  annotations:
    # A changed configuration starts new Pods.
    checksum/config: {{ toJson .Values.config | sha256sum }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false # a Service called "api" would set API_PORT
  terminationGracePeriodSeconds: 20 # 5 s before SIGTERM, 10 s to stop
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- if eq .Values.database "postgresql" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "benefits-sidecar.labels" . | nindent 10 }}
  {{- end }}
  securityContext:
    fsGroup: 1000 # the image's user may read the secrets and write the volume
    fsGroupChangePolicy: OnRootMismatch
  containers:
    - name: sidecar
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      {{- if not .Values.migrate }}
      command: [node, dist/main.js, serve, --no-migrate]
      {{- end }}
      env:
        {{- range $name, $value := .Values.config }}
        - name: {{ $name }}
          {{- /* YAML reads on and off as booleans; toString makes 1e+09 of a long number. */}}
          {{- if kindIs "bool" $value }}
          value: {{ ternary "on" "off" $value | quote }}
          {{- else if kindIs "string" $value }}
          value: {{ $value | quote }}
          {{- else }}
          value: {{ toJson $value | quote }}
          {{- end }}
        {{- end }}
        {{- range $name, $key := .Values.secret.files }}
        {{- if $key }}
        - name: {{ $name }}
          value: /etc/benefits-sidecar/{{ $key }}
        {{- end }}
        {{- end }}
        {{- if eq .Values.database "sqlite" }}
        - name: DATABASE_URL
          value: sqlite:/data/sidecar.db
        {{- else if not (hasKey .Values.secret.files "DATABASE_URL_FILE") }}
        - name: DATABASE_URL_FILE
          value: /etc/benefits-sidecar/database_url
        {{- end }}
        - name: API_HOST # the NetworkPolicy says who reaches it
          value: 0.0.0.0
      ports:
        - { name: webhooks, containerPort: 8080 }
        - { name: api, containerPort: 8081 }
      startupProbe: # a start may migrate first
        httpGet: { path: /livez, port: api }
        periodSeconds: 2
        failureThreshold: 300
      readinessProbe: # passes only while the API accepts, too
        httpGet: { path: /readyz, port: webhooks }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      livenessProbe: # doesn't use the database, so an outage of it restarts no Pod
        httpGet: { path: /livez, port: webhooks }
        timeoutSeconds: 5
      lifecycle:
        preStop: # wait until no balancer sends here anymore
          exec: { command: [sleep, "5"] }
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        runAsUser: 1000
        runAsNonRoot: true
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: { drop: [ALL] }
        seccompProfile: { type: RuntimeDefault }
      volumeMounts:
        - { name: secrets, mountPath: /etc/benefits-sidecar, readOnly: true }
        {{- if eq .Values.database "sqlite" }}
        - { name: data, mountPath: /data }
        {{- end }}
  volumes:
    - name: secrets
      secret: { secretName: {{ .Values.secret.name }}, defaultMode: 0440 }
{{- end }}
