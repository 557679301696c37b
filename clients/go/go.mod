module sms

go 1.22
