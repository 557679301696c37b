module sdks/send

go 1.21
