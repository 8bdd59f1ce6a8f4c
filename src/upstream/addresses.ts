/** Which addresses the nodes may have. */
import { lookup as resolve } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

export interface Addresses {
  allows(address: string): boolean
  /** Resolves a name and keeps what is allowed; used by the connection itself, so nothing is resolved twice. */
  readonly lookup: LookupFunction
}

/** Addresses and CIDRs; throws for what is neither. An empty list allows every address. */
export function readAddresses(ranges: readonly string[]): Addresses {
  const list = new BlockList()
  for (const range of ranges) add(list, range)
  const allows = (address: string) => ranges.length === 0 || list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '')
      const allowed = found.filter(({ address }) => allows(address))
      const [first] = allowed
      if (first === undefined) return callback(notAllowed(hostname), '')
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
  return { allows, lookup }
}

/** Mapped forms are refused: `::ffff:10.0.0.0/8` reads as eight bits of IPv6 and lets the whole Internet in. */
function add(list: BlockList, range: string): void {
  const [network = '', prefix, ...rest] = range.split('/')
  const family = isIP(network)
  const most = family === 6 ? 128 : 32
  const bits = prefix ?? String(most)
  const mapped = family === 6 && network.toLowerCase().includes('::ffff:')
  if (family === 0 || mapped || rest.length > 0 || !/^[0-9]{1,3}$/.test(bits) || Number(bits) > most) {
    throw new Error(`cluster.addresses: ${range} is no CIDR; write it like 10.0.0.10, 10.0.0.0/8 or fd00::/8`)
  }
  list.addSubnet(network, Number(bits), family === 6 ? 'ipv6' : 'ipv4')
}

function notAllowed(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${hostname} is allowed`), { code: 'ERR_ADDRESS_NOT_ALLOWED' })
}
