# The network of examples/dumbbell, in ns-2.35:
#
#   ns dumbbell.tcl FLOWS MBPS SECONDS
#
# Prints what the flows of each kind received in bytes, TCP's and TFRC's.

lassign $argv flows megabits seconds

set ns [new Simulator]
# Only the headers that are used: ns-2 is faster so.
remove-all-packet-headers
add-packet-header IP TCP TFRC TFRC_ACK

# 40 bytes of headers are added to TCP's packets, none to TFRC's.
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 10000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 1
Agent/TFRC set packetSize_ 1000

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${megabits}Mb 20ms DropTail
set limit [expr {max(10, $megabits * 25 / 2)}]
$ns queue-limit $left $right $limit
$ns queue-limit $right $left $limit

for {set flow 0} {$flow < 2 * $flows} {incr flow} {
    set from [$ns node]
    set to [$ns node]
    set delay [expr {5.0 + $flow * 7919 % 15000 / 1000.0}]ms
    foreach {end middle} [list $from $left $to $right] {
        $ns duplex-link $end $middle 100Mb $delay DropTail
        $ns queue-limit $end $middle 1000
        $ns queue-limit $middle $end 1000
    }
    if {$flow % 2 == 0} {
        set source [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1/DelAck]
        lappend tcps $source
        set starter [new Application/FTP]
        $starter attach-agent $source
    } else {
        set source [new Agent/TFRC]
        set sink [new Agent/TFRCSink]
        lappend tfrcs $source
        set starter $source
    }
    $ns attach-agent $from $source
    $ns attach-agent $to $sink
    $ns connect $source $sink
    $ns at [expr {$flow * 30997 % 1000000 / 1e6}] "$starter start"
}
$ns at $seconds {
    set received {0 0}
    foreach source $tcps { lset received 0 [expr {[lindex $received 0] + 1040 * ([$source set ack_] + 1)}] }
    foreach source $tfrcs { lset received 1 [expr {[lindex $received 1] + 1000 * [$source set ndatapack_]}] }
    puts $received
    exit 0
}
$ns run
