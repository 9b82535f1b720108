// The network of examples/dumbbell with its TCP flows alone, in ns-3.37:
//
//   dumbbell FLOWS MBPS SECONDS
//
// Prints the bytes that the flows received.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

NetDeviceContainer
Connect(Ptr<Node> from, Ptr<Node> to, uint64_t megabits, Time delay, uint64_t packets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(megabits * 1'000'000)));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(packets) + "p"));
    return link.Install(from, to);
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 4)
    {
        std::cerr << "usage: dumbbell FLOWS MBPS SECONDS\n";
        return 2;
    }
    const uint64_t flows = std::strtoull(argv[1], nullptr, 10);
    const uint64_t megabits = std::strtoull(argv[2], nullptr, 10);
    const uint64_t seconds = std::strtoull(argv[3], nullptr, 10);

    // SACK and delayed acknowledgements are the default. Buffers are not to limit the window.
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpLinuxReno"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(10'000'000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(10'000'000));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));

    NodeContainer routers(2);
    NodeContainer senders(flows);
    NodeContainer receivers(flows);
    InternetStackHelper internet;
    internet.InstallAll();

    std::vector<NetDeviceContainer> links;
    links.push_back(Connect(routers.Get(0),
                            routers.Get(1),
                            megabits,
                            MilliSeconds(20),
                            std::max<uint64_t>(10, megabits * 25 / 2)));
    for (uint64_t flow = 0; flow < flows; ++flow)
    {
        // The even places are TCP's.
        const Time delay = MicroSeconds(5'000 + 2 * flow * 7'919 % 15'000);
        links.push_back(Connect(senders.Get(flow), routers.Get(0), 100, delay, 1'000));
        links.push_back(Connect(routers.Get(1), receivers.Get(flow), 100, delay, 1'000));
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    TrafficControlHelper disciplines;
    std::vector<Ipv4Address> destinations;
    for (size_t index = 0; index < links.size(); ++index)
    {
        const Ipv4InterfaceContainer assigned = addresses.Assign(links[index]);
        addresses.NewNetwork();
        // The queue of the device is the only one.
        disciplines.Uninstall(links[index]);
        if (index > 0 && index % 2 == 0)
        {
            destinations.push_back(assigned.GetAddress(1));
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    ApplicationContainer sinks;
    for (uint64_t flow = 0; flow < flows; ++flow)
    {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
        sinks.Add(sink.Install(receivers.Get(flow)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(destinations[flow], 5001));
        source.SetAttribute("SendSize", UintegerValue(1000));
        ApplicationContainer started = source.Install(senders.Get(flow));
        started.Start(MicroSeconds(2 * flow * 30'997 % 1'000'000));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t received = 0;
    for (uint32_t flow = 0; flow < sinks.GetN(); ++flow)
    {
        received += DynamicCast<PacketSink>(sinks.Get(flow))->GetTotalRx();
    }
    std::cout << received << '\n';
    Simulator::Destroy();
}
