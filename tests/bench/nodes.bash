# Sourced. `make_nodes` makes four nodes (network namespaces with links of 1 Gbit/s) and puts their names into the array
# `nodes`. They are removed when the script ends.
prefix=detb$$
bridge=br$prefix
nodes=()

take_down_nodes() {
  local node
  for node in "${nodes[@]}"; do ip netns del "$node" 2>/dev/null || true; done
  ip link del "$bridge" 2>/dev/null || true
}

make_nodes() {
  trap take_down_nodes EXIT
  trap 'exit 130' HUP INT TERM
  ip link add "$bridge" type bridge
  ip link set "$bridge" up
  local i name
  for i in 0 1 2 3; do
    name=$prefix-$i
    nodes+=("$name")
    ip netns add "$name"
    ip link add "v$i$prefix" type veth peer name eth0 netns "$name"
    ip link set "v$i$prefix" master "$bridge" up
    ip -n "$name" addr add "10.78.0.1$i/24" dev eth0
    ip -n "$name" link set eth0 up
    ip -n "$name" link set lo up
    tc qdisc add dev "v$i$prefix" root tbf rate 1gbit burst 128kb latency 50ms
    ip netns exec "$name" tc qdisc add dev eth0 root tbf rate 1gbit burst 128kb latency 50ms
  done
}
