# Figures 26 and 28 of the sigcomm paper in ns-2.35, which experiments/sigcomm-fig26.toml and -fig28.toml cite:
#
#   ns queue.tcl AGENT FLOWS RATE_MBPS QUEUE AGAINST SHORT FROM TO SEED [CLASS VARIABLE VALUE]...
#
# FLOWS of AGENT (TCP/Sack1 or TFRC) start over 20 s, each with 45 ms of round trip. QUEUE packets fit each way.
# AGAINST are TCP flows against the data, SHORT the share of the rate that TCP connections of 1 to 20 packets take,
# both with windows of 8 packets. The parameters are of a script whose author is not known; it fits the appendix.
# Prints, from FROM to TO, the utilisation, the drop rate, and the distance of the 5th and the 95th percentile of
# the queue.

set defaults [lassign $argv agent flows megabits limit against short from to seed]

set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP TFRC TFRC_ACK Flags
set random [new RNG]
$random seed $seed
Agent/TCP set window_ 10000
# A packet is 1000 bytes with its headers.
Agent/TCP set useHeaders_ false
foreach {class variable value} $defaults { $class set $variable $value }

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${megabits}Mb 20ms DropTail
foreach {a b} [list $left $right $right $left] { $ns queue-limit $a $b $limit }
set monitor [$ns monitor-queue $left $right ""]

proc ends {} {
    global ns left right
    foreach middle [list $left $right] {
        set end [$ns node]
        $ns duplex-link $end $middle 100Mb 1.25ms DropTail
        foreach {a b} [list $end $middle $middle $end] { $ns queue-limit $a $b 1000 }
        lappend ends $end
    }
    return $ends
}
proc tcp {from to} {
    global ns
    return [[$ns create-connection TCP/Sack1 $from TCPSink/Sack1 $to 0] attach-app FTP]
}

for {set flow 0} {$flow < $flows} {incr flow} {
    lassign [ends] a b
    set source [expr {$agent eq "TFRC" ? [$ns create-connection TFRC $a TFRCSink $b 0] : [tcp $a $b]}]
    $ns at [expr {20 * $flow / ($flows + 1) + $flow % 10 / 10.0}] "$source start"
}
lassign [ends] a b
Agent/TCP set window_ 8
for {set flow 0} {$flow < $against} {incr flow} { $ns at $flow "[tcp $b $a] start" }
# 10.5 packets each, on average.
for {set flow 0} {$flow < $short * $megabits * 1e6 * $to / 84e3} {incr flow} {
    $ns at [$random uniform 0 $to] "[tcp $a $b] produce [expr {1 + int([$random uniform 0 20])}]"
}

proc sample {} {
    global ns monitor lengths
    lappend lengths [$monitor set pkts_]
    $ns after 0.01 sample
}
proc counted {} {
    global monitor
    foreach count {bdepartures_ pdrops_ parrivals_} { lappend counts [$monitor set $count] }
    return $counts
}
$ns at $from { set before [counted]; sample }
$ns at $to {
    foreach now [counted] earlier $before { lappend counts [expr {double($now - $earlier)}] }
    lassign $counts bytes drops arrivals
    set lengths [lsort -real $lengths]
    foreach part {0.95 0.05} { lappend percentiles [lindex $lengths [expr {int($part * [llength $lengths])}]] }
    puts [format "%.3f %.4f %d" [expr {$bytes * 8 / ($megabits * 1e6 * ($to - $from))}] \
        [expr {$drops / $arrivals}] [expr [join $percentiles -]]]
    exit 0
}
$ns run
