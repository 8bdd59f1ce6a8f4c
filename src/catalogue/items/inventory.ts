/** Response schemas of the inventory (syscollector). Windows and other package formats lack some fields. */
import { fieldsOf, integer, number, object, optional, text } from './schema.ts'

const scan = object({ id: integer(), 'time?': text('YYYY/MM/DD hh:mm:ss, UTC.') }, 'The scan that found the item.')
const traffic = object({
  bytes: integer('Bytes.'),
  ...fieldsOf(integer('Number of packets.'), 'dropped', 'errors', 'packets'),
})
const endpoint = object({ ip: text(), port: integer() })

export const inventoryItems = {
  Hardware: object(
    {
      'cpu?': object({ cores: integer(), mhz: number('MHz.'), name: text() }),
      'ram?': object({ free: integer('KiB.'), total: integer('KiB.'), usage: integer('Percent.') }),
      'board_serial?': text(),
      'scan?': scan,
    },
    'Empty if the agent has reported no inventory.',
  ),
  OperatingSystem: object(
    {
      'os?': object(optional(fieldsOf(text(), 'build', 'codename', 'major', 'minor', 'name', 'platform', 'version'))),
      ...optional(fieldsOf(text(), 'sysname', 'hostname', 'version', 'release', 'os_release', 'architecture')),
      'scan?': scan,
    },
    'Empty if the agent has reported no inventory.',
  ),
  NetworkAddress: object({
    ...fieldsOf(text(), 'iface', 'address', 'proto', 'netmask?', 'broadcast?'),
    'scan?': scan,
    'scan_id?': integer(),
  }),
  NetworkInterface: object({
    name: text(),
    ...fieldsOf(text(), 'adapter?', 'mac?', 'state?', 'type?'),
    'mtu?': integer('Bytes.'),
    'rx?': traffic,
    'tx?': traffic,
    scan,
  }),
  NetworkProtocol: object({
    ...fieldsOf(text(), 'iface', 'type', 'gateway?', 'dhcp?'),
    'scan?': scan,
    'scan_id?': integer(),
  }),
  Package: object({
    ...fieldsOf(text(), 'name', 'version?', 'vendor?', 'description?', 'architecture?', 'format?', 'section?'),
    ...fieldsOf(text(), 'priority?', 'multiarch?', 'source?', 'location?', 'install_time?'),
    'size?': integer('KiB.'),
    scan,
  }),
  Port: object({
    local: endpoint,
    'remote?': endpoint,
    protocol: text(),
    'state?': text('Of TCP.'),
    'pid?': integer(),
    'process?': text(),
    'inode?': integer(),
    ...fieldsOf(integer('Bytes.'), 'rx_queue?', 'tx_queue?'),
    scan,
  }),
  Process: object({
    pid: text(),
    name: text(),
    ...fieldsOf(text(), 'cmd?', 'argvs?', 'state?', 'euser?', 'ruser?', 'suser?', 'egroup?', 'rgroup?', 'sgroup?'),
    'fgroup?': text(),
    ...fieldsOf(integer(), 'ppid?', 'nlwp?', 'pgrp?', 'priority?', 'nice?', 'tgid?', 'session?', 'tty?', 'processor?'),
    'start_time?': integer('Clock ticks after the start of the host.'),
    ...fieldsOf(integer('Clock ticks.'), 'utime?', 'stime?'),
    ...fieldsOf(integer('KiB.'), 'vm_size?'),
    ...fieldsOf(integer('Pages.'), 'size?', 'resident?', 'share?'),
    scan,
  }),
  Hotfix: object({ hotfix: text(), scan }),
} as const
