module formatsbench

go 1.19
