{{/* Changes one .object (.root is `$`) as the values of its service say, in place. */}}
{{- define "values.apply" -}}
{{- $values := .root.Values -}}
{{- $object := .object -}}
{{- $metadata := $object.metadata -}}
{{- $own := get $values.services $metadata.name | default (dict) -}}
{{- if not (has $object.kind (list "PriorityClass" "ClusterRole")) -}}
{{- $_ := set $metadata "namespace" .root.Release.Namespace -}}
{{- end -}}
{{- if has $object.kind (list "Deployment" "StatefulSet") -}}
{{- $spec := $object.spec -}}
{{- if and (hasKey $own "replicas") (hasKey $spec "replicas") -}}{{- $_ := set $spec "replicas" $own.replicas -}}{{- end -}}
{{- $pod := $spec.template.spec -}}
{{- $annotations := $spec.template.metadata.annotations | default (dict) -}}
{{- $settings := list -}}
{{- range $container := concat ($pod.initContainers | default list) $pod.containers -}}
{{- if $values.image.pullPolicy -}}{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy -}}{{- end -}}
{{- if $own.env -}}{{- $_ := set $container "env" (concat ($container.env | default list) $own.env) -}}{{- end -}}
{{- range $container.envFrom -}}{{- $settings = append $settings (get $.maps .configMapRef.name).data -}}{{- end -}}
{{- end -}}
{{- $container := first $pod.containers -}}
{{- if $own.resources -}}{{- $_ := set $container "resources" (mergeOverwrite $container.resources (deepCopy $own.resources)) -}}{{- end -}}
{{- if $own.args -}}{{- $_ := set $container "args" $own.args -}}{{- end -}}
{{- if $values.image.pullSecrets -}}{{- $_ := set $pod "imagePullSecrets" $values.image.pullSecrets -}}{{- end -}}
{{- $_ := mergeOverwrite $pod (deepCopy ($own.pod | default (dict))) -}}
{{- if $settings -}}{{- $_ := set $annotations "checksum/settings" (toJson $settings | sha256sum) -}}{{- end -}}
{{- $_ := mergeOverwrite $annotations ($own.podAnnotations | default (dict)) -}}
{{- if $annotations -}}{{- $_ := set $spec.template.metadata "annotations" $annotations -}}{{- end -}}
{{- range $claim := $spec.volumeClaimTemplates -}}
{{- if $own.storage -}}{{- $_ := set $claim.spec "resources" (dict "requests" (dict "storage" $own.storage)) -}}{{- end -}}
{{- if $own.storageClass -}}{{- $_ := set $claim.spec "storageClassName" $own.storageClass -}}{{- end -}}
{{- end -}}
{{- else if and $own.autoscaling (eq $object.kind "HorizontalPodAutoscaler") -}}
{{- $_ := set $object.spec "minReplicas" $own.autoscaling.min -}}
{{- $_ := set $object.spec "maxReplicas" $own.autoscaling.max -}}
{{- else if and $own.autoscaling (eq $object.kind "ScaledObject") -}}
{{- $_ := set $object.spec "minReplicaCount" $own.autoscaling.min -}}
{{- $_ := set $object.spec "maxReplicaCount" $own.autoscaling.max -}}
{{- else if eq $object.kind "HTTPRoute" -}}
{{- $_ := set $object.spec "parentRefs" (list $values.publish.gateway) -}}
{{- else if eq $object.kind "Ingress" -}}
{{- $_ := set $object.spec "ingressClassName" $values.publish.ingress.className -}}
{{- $_ := set (first $object.spec.tls) "secretName" $values.publish.ingress.tlsSecret -}}
{{- $_ := set $metadata "annotations" (mergeOverwrite $metadata.annotations (deepCopy $values.publish.ingress.annotations)) -}}
{{- else if hasPrefix "monitoring.coreos.com/" $object.apiVersion -}}
{{- $chosen := ternary $values.monitoring.alertmanagerLabels $values.monitoring.labels (eq $object.kind "AlertmanagerConfig") -}}
{{- $_ := set $metadata "labels" (mergeOverwrite $metadata.labels (deepCopy $chosen)) -}}
{{- range $group := ternary $object.spec.groups list (and (eq $object.kind "PrometheusRule") (ne $values.monitoring.runbooks "")) -}}
{{- range $rule := $group.rules -}}
{{- if $rule.annotations -}}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s" $values.monitoring.runbooks $rule.annotations.runbook_url) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Prints the JSON of all objects of the release, {"items": […]}. */}}
{{- define "objects" -}}
{{- $values := .Values -}}
{{- $state := dict "objects" list "maps" (dict) -}}
{{- include "kustomize.load" (dict "root" $ "state" $state "folder" "manifests/base") -}}
{{- range $name, $wanted := $values.components -}}
{{- if $wanted -}}
{{- include "kustomize.load" (dict "root" $ "state" $state "folder" (printf "manifests/components/%s" $name)) -}}
{{- end -}}
{{- end -}}
{{- include "kustomize.patch" (dict "state" $state "patches" $values.patches) -}}
{{- $items := list -}}
{{- range $name, $map := $state.maps -}}
{{- $own := get $values.services (trimSuffix "-settings" $name) | default (dict) -}}
{{- if hasSuffix "-settings" $name -}}
{{- if and $values.publish.trustedProxies (hasKey $map.data "TRUSTED_PROXIES") -}}{{- $_ := set $map.data "TRUSTED_PROXIES" $values.publish.trustedProxies -}}{{- end -}}
{{- range $key, $value := mergeOverwrite (deepCopy $values.settings) ($own.settings | default (dict)) -}}
{{- $_ := set $map.data $key (toString $value) -}}
{{- end -}}
{{- end -}}
{{- $metadata := dict "name" $name "namespace" $.Release.Namespace "labels" $map.labels -}}
{{- $items = append $items (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $map.data) -}}
{{- end -}}
{{- range $object := $state.objects -}}
{{- if ne $object.kind "Namespace" -}}
{{- include "values.apply" (dict "root" $ "object" $object "maps" $state.maps) -}}
{{- $items = append $items $object -}}
{{- end -}}
{{- end -}}
{{- $text := toJson (dict "items" $items) -}}
{{- $text = $text | replace "portal.companies.example.com" "<portal>" | replace "companies.example.com" $values.hosts.api | replace "<portal>" $values.hosts.portal -}}
{{- $text = $text | replace "company-registry.svc" (printf "%s.svc" .Release.Namespace) -}}
{{- $tag := $values.image.tag | default .Chart.AppVersion -}}
{{- $text = regexReplaceAll "set-images\\.invalid/(company-registry/[a-z-]+):[^\"]+" $text (printf "%s/${1}:%s" $values.image.registry $tag) -}}
{{- $text = replace "set-images.invalid/" (printf "%s/" $values.image.registry) $text -}}
{{- range $name, $other := $values.secrets.names -}}
{{- $text = regexReplaceAll (printf "(\"secretKeyRef\":\\{\"key\":\"[^\"]+\",\"name\":)\"%s\"" $name) $text (printf "${1}%q" $other) -}}
{{- end -}}
{{- $text -}}
{{- end -}}
