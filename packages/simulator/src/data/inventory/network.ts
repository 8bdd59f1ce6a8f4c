/** Interfaces, addresses and protocols of a host. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'

interface Interface {
  readonly name: string
  readonly adapter?: string
  readonly mac: string
  readonly address: string
  readonly up: boolean
}

function interfacesOf(machine: Machine): Interface[] {
  const random = machine.lasting('interfaces')
  const mac = () => ['02', ...Array.from({ length: 5 }, () => random.hex(2))].join(':')
  const windows = machine.kind === 'windows'
  const first: Interface = {
    name: windows ? 'Ethernet0' : machine.kind === 'mac' ? 'en0' : 'eth0',
    ...(windows ? { adapter: 'Intel(R) 82574L Gigabit Network Connection' } : {}),
    mac: mac(),
    address: machine.address,
    up: true,
  }
  if (windows || !random.chance(0.35)) return [first]
  const name = random.pick(['eth1', 'docker0', 'wlan0'])
  return [first, { name, mac: mac(), address: `172.17.${random.int(0, 31)}.1`, up: random.chance(0.7) }]
}

export function interfaces(machine: Machine): Row[] {
  return interfacesOf(machine).map(({ name, adapter, mac, up }) => {
    const random = machine.passing(`traffic ${name}`)
    const sent = up ? random.int(1_000, 900_000) : 0
    const received = up ? random.int(2_000, 1_500_000) : 0
    return {
      name,
      adapter,
      type: 'ethernet',
      state: up ? 'up' : 'down',
      mtu: 1500,
      mac,
      tx_packets: sent,
      rx_packets: received,
      tx_bytes: sent * random.int(60, 800),
      rx_bytes: received * random.int(60, 1200),
      tx_errors: 0,
      rx_errors: random.chance(0.05) ? random.int(1, 40) : 0,
      tx_dropped: 0,
      rx_dropped: random.chance(0.1) ? random.int(1, 900) : 0,
    }
  })
}

export function addresses(machine: Machine): Row[] {
  return interfacesOf(machine).flatMap(({ name, mac, address }) => [
    { iface: name, proto: 'ipv4', address, netmask: '255.255.255.0', broadcast: address.replace(/\d+$/, '255') },
    { iface: name, proto: 'ipv6', address: linkLocal(mac), netmask: 'ffff:ffff:ffff:ffff::' },
  ])
}

/** Returns the link-local address that an interface derives from its MAC address (RFC 4291, appendix A). */
function linkLocal(mac: string): string {
  const [a = '02', b = '', c = '', d = '', e = '', f = ''] = mac.split(':')
  const first = (Number.parseInt(a, 16) ^ 2).toString(16)
  return `fe80::${first}${b}:${c}ff:fe${d}:${e}${f}`
}

export function protocols(machine: Machine): Row[] {
  return interfacesOf(machine).flatMap(({ name, address }) => [
    { iface: name, type: 'ipv4', gateway: address.replace(/\d+$/, '1'), dhcp: dhcpOf(machine, name) },
    { iface: name, type: 'ipv6', dhcp: dhcpOf(machine, name) },
  ])
}

function dhcpOf(machine: Machine, name: string): string {
  return machine.lasting(`dhcp ${name}`).pick(['enabled', 'disabled', 'unknown'])
}
