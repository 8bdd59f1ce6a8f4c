/** The inventory in the database of an agent: a table for each kind with flat column names. */
import { type V4InventoryKind, v4Inventories } from '../../../../../src/contracts/v3/inventories.ts'
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'
import { memo } from '../memo.ts'
import { inventoryStamp } from '../times.ts'
import { extensions, groups, services, users } from './accounts.ts'
import { hardware, system } from './host.ts'
import { addresses, interfaces, protocols } from './network.ts'
import { hotfixes, packages } from './packages.ts'
import { ports, processes } from './processes.ts'

const tables = {
  hardware: (machine) => [hardware(machine)],
  os: (machine) => [system(machine)],
  netaddr: addresses,
  netiface: interfaces,
  netproto: protocols,
  packages,
  ports,
  processes,
  hotfixes,
  users,
  groups,
  browser_extensions: extensions,
  services,
} satisfies Readonly<Record<V4InventoryKind, (machine: Machine) => Row[]>>

export const inventoryKinds = Object.keys(tables) as readonly V4InventoryKind[]

// Rows are pure functions of their key, and reads over all agents need the same rows repeatedly.
const madeOnce = memo<readonly Row[]>(4000)

/** Returns the rows of one kind in scan order; the same array until the next scan. */
export function inventoryRows(seed: number, machine: Machine, kind: V4InventoryKind): readonly Row[] {
  const { host, address, os, scanned } = machine
  const key = [seed, machine.key, kind, scanned.getTime(), host, address, os.name, os.version].join('\u0000')
  return madeOnce(key, () => {
    const hasTime = /scan.time/.test(v4Inventories[kind].fields)
    const scan = {
      // The three network tables share one scan.
      scan_id: machine.passing(kind.startsWith('net') ? 'net scan' : `${kind} scan`).int(1, 2147483647),
      ...(hasTime && { scan_time: inventoryStamp(scanned) }),
    }
    return tables[kind](machine).map((row) => ({ ...scan, ...row }))
  })
}
