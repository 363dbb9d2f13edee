CC = /usr/bin/python3 -c "sum(i * i for i in range(9_000_000))" #
LD = /usr/bin/python3 -c "sum(i * i for i in range(12_000_000))" #
app: main.o lexer.o parser.o eval.o
	@exec $(LD) -o app
main.o lexer.o parser.o eval.o:
	@exec $(CC) -c $@
