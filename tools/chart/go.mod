module rogito.dev/rogito/tools/chart

go 1.26.8

require helm.sh/helm/v3 v3.19.2 // indirect
