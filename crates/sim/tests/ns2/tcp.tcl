# What the figures in tests/tcp_ns2.rs come from: one TCP flow over a bottleneck, in ns-2.35.
#
#   ns tcp.tcl AGENT SINK RATE_MBPS QUEUE LOSS SECONDS
#
# AGENT is Agent/TCP (Tahoe), Agent/TCP/Reno, Agent/TCP/Newreno or Agent/TCP/Sack1, SINK is
# Agent/TCPSink/DelAck or Agent/TCPSink/Sack1/DelAck. Prints how many packets were acknowledged.

lassign $argv agent sink rate queue loss seconds

set ns [new Simulator]
$defaultRNG seed 1

# Headers are counted, 40 bytes a packet.
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 10000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 1
# By default ns-2 keeps Reno, too, from a second fast retransmit in a window, which RFC 5681 does not.
Agent/TCP/Reno set bugFix_ false

foreach name {sender left right receiver} { set $name [$ns node] }
$ns duplex-link $sender $left 100Mb 5ms DropTail
$ns duplex-link $left $right ${rate}Mb 10ms DropTail
$ns duplex-link $right $receiver 100Mb 5ms DropTail
$ns queue-limit $sender $left 1000
$ns queue-limit $left $right $queue

if {$loss > 0} {
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $loss
    $errors ranvar [new RandomVariable/Uniform]
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $left $right
}

set tcp [new $agent]
set end [new $sink]
$ns attach-agent $sender $tcp
$ns attach-agent $receiver $end
$ns connect $tcp $end
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp start"
$ns at $seconds {
    # Packets count from 0.
    puts [expr [$tcp set ack_] + 1]
    exit 0
}
$ns run
