module quillet/differential

go 1.24
