{{/*
Reads the manifests of deploy/k8s as kubectl does: resources, generators of ConfigMaps, components and
JSON patches (RFC 6902). Anything else in a kustomization is refused, so that nothing is left out.
*/}}

{{/* Adds a folder to .state: its objects to `objects`, its ConfigMaps to `maps`. .root is `$`. */}}
{{- define "kustomize.load" -}}
{{- $root := .root -}}
{{- $state := .state -}}
{{- $folder := .folder -}}
{{- $file := printf "%s/kustomization.yaml" $folder -}}
{{- $read := $root.Files.Get $file | fromYaml -}}
{{- if not $read -}}{{- fail (printf "%s is not in the chart" $file) -}}{{- end -}}
{{- $known := list "apiVersion" "kind" "namespace" "resources" "components" "configMapGenerator" "patches" -}}
{{- range $key, $_ := $read -}}
{{- if not (has $key $known) -}}{{- fail (printf "%s: the chart does not read %s" $file $key) -}}{{- end -}}
{{- end -}}
{{- range $read.resources -}}
{{- range $text := splitList "\n---\n" ($root.Files.Get (printf "%s/%s" $folder .)) -}}
{{- $object := printf "%s\n" $text | fromYaml -}}
{{- if $object -}}{{- $_ := set $state "objects" (append $state.objects $object) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range $read.components -}}
{{- include "kustomize.load" (dict "root" $root "state" $state "folder" (clean (printf "%s/%s" $folder .))) -}}
{{- end -}}
{{- range $read.configMapGenerator -}}
{{- $data := (get $state.maps .name | default (dict)).data | default (dict) -}}
{{- range .literals -}}
{{- $parts := splitn "=" 2 . -}}
{{- $_ := set $data $parts._0 $parts._1 -}}
{{- end -}}
{{- range .files -}}
{{- $_ := set $data . ($root.Files.Get (printf "%s/%s" $folder .)) -}}
{{- end -}}
{{- if ne (.behavior | default "create") "merge" -}}
{{- $labels := (.options | default (dict)).labels -}}
{{- $_ := set $state.maps .name (dict "data" $data "labels" $labels) -}}
{{- end -}}
{{- end -}}
{{- include "kustomize.patch" (dict "state" $state "patches" $read.patches) -}}
{{- end -}}

{{/* Applies .patches to .state.objects. */}}
{{- define "kustomize.patch" -}}
{{- $state := .state -}}
{{- range $patch := .patches -}}
{{- $operations := $patch.patch | fromYamlArray -}}
{{- $objects := list -}}
{{- range $object := $state.objects -}}
{{- if include "kustomize.selected" (dict "target" $patch.target "object" $object) -}}
{{- range $operation := $operations -}}
{{- if kindIs "string" $operation -}}{{- fail (printf "not a list of operations: %s" $patch.patch) -}}{{- end -}}
{{- $path := splitList "/" (trimPrefix "/" $operation.path) -}}
{{- $object = (include "kustomize.changed" (dict "node" $object "path" $path "operation" $operation) | fromJson).node -}}
{{- end -}}
{{- end -}}
{{- $objects = append $objects $object -}}
{{- end -}}
{{- $_ := set $state "objects" $objects -}}
{{- end -}}
{{- end -}}

{{/* Prints something if .target selects .object: by kind and name, whole expressions, and by labels. */}}
{{- define "kustomize.selected" -}}
{{- $metadata := .object.metadata -}}
{{- $kind := printf "^(%s)$" (.target.kind | default ".*") -}}
{{- $name := printf "^(%s)$" (.target.name | default ".*") -}}
{{- $found := and (regexMatch $kind .object.kind) (regexMatch $name $metadata.name) -}}
{{- range $term := .target.labelSelector | default "" | splitList "," -}}
{{- if $term -}}
{{- $negated := contains "!=" $term -}}
{{- $parts := $term | replace "!=" "=" | splitn "=" 2 -}}
{{- $same := eq (get ($metadata.labels | default (dict)) $parts._0) $parts._1 -}}
{{- if eq $same $negated -}}{{- $found = false -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $found -}}selected{{- end -}}
{{- end -}}

{{/* Prints {"node": …}, the .node with one .operation carried out at .path. */}}
{{- define "kustomize.changed" -}}
{{- $operation := .operation -}}
{{- $key := first .path | replace "~1" "/" | replace "~0" "~" -}}
{{- $rest := rest .path -}}
{{- $node := .node -}}
{{- $old := "" -}}
{{- $exists := false -}}
{{- $at := -1 -}}
{{- if kindIs "map" $node -}}
{{- $exists = hasKey $node $key -}}
{{- $old = get $node $key -}}
{{- else if ne $key "-" -}}
{{- $at = int $key -}}
{{- $exists = lt $at (len $node) -}}
{{- if $exists -}}{{- $old = index $node $at -}}{{- end -}}
{{- end -}}
{{- if and (not $exists) (or $rest (ne $operation.op "add")) -}}
{{- fail (printf "nothing to %s at %s" $operation.op $operation.path) -}}
{{- end -}}
{{- $new := $operation.value -}}
{{- if $rest -}}
{{- $new = (include "kustomize.changed" (dict "node" $old "path" $rest "operation" $operation) | fromJson).node -}}
{{- else if eq $operation.op "test" -}}
{{- if ne (toJson $old) (toJson $new) -}}{{- fail (printf "%s is not %s" $operation.path (toJson $new)) -}}{{- end -}}
{{- end -}}
{{- $removes := and (not $rest) (eq $operation.op "remove") -}}
{{- $inserts := and (not $rest) (eq $operation.op "add") -}}
{{- if kindIs "map" $node -}}
{{- if $removes -}}{{- $_ := unset $node $key -}}{{- else -}}{{- $_ := set $node $key $new -}}{{- end -}}
{{- else -}}
{{- $list := list -}}
{{- range $index, $each := $node -}}
{{- if ne $index $at -}}{{- $list = append $list $each -}}
{{- else if $inserts -}}{{- $list = concat $list (list $new $each) -}}
{{- else if not $removes -}}{{- $list = append $list $new -}}
{{- end -}}
{{- end -}}
{{- if not $exists -}}{{- $list = append $list $new -}}{{- end -}}
{{- $node = $list -}}
{{- end -}}
{{- toJson (dict "node" $node) -}}
{{- end -}}
