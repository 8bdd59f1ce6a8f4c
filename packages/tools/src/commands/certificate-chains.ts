/** The part of `doctor` about certificates: the files of the settings, and the chains of the nodes and of Redis. */
import { isIP } from 'node:net'
import { type ConnectionOptions, connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'
import { redisConnectionOptions } from '../../../../src/app/base.ts'
import { readTls } from '../../../../src/app/cluster.ts'
import { dateOf, expiryFinding, fileFindings } from '../../../../src/cli/certificate-findings.ts'
import type { Finding } from '../../../../src/cli/output.ts'
import { hostOf, redisPlaces } from '../../../../src/cli/places.ts'
import type { Config } from '../../../../src/config/schema.ts'

export async function certificateFindings(config: Config): Promise<readonly Finding[]> {
  return [...(await fileFindings(config)), ...(await Promise.all((await serversOf(config)).map(chainFinding)))]
}

/** A server that the edge connects to with TLS. */
interface Server {
  readonly check: string
  readonly host: string
  readonly port: number
  readonly tls: ConnectionOptions
  /** The settings of its address and of its CA. */
  readonly setting: string
  readonly caSetting: string
}

async function serversOf(config: Config): Promise<readonly Server[]> {
  const { nodes } = config.cluster
  const { redis } = config.cache
  const tls = await readTls(config)
  const ofNodes = nodes.flatMap(({ name, url }): Server[] => {
    if (!url.startsWith('https:')) return []
    const place = { host: hostOf(url), port: Number(new URL(url).port || 443) }
    return [{ check: `${name} certificate`, ...place, tls, setting: 'cluster.nodes', caSetting: 'cluster.tls.ca' }]
  })
  const ofRedis = (await redisConnectionOptions(redis))?.tls ?? {}
  const places = redisPlaces(redis).filter(({ isSecure }) => isSecure)
  return [
    ...ofNodes,
    ...places.map(({ host, port }): Server => {
      const settings = { setting: 'cache.redis', caSetting: 'cache.redis.tls.ca' }
      return { check: 'redis certificate', host, port, tls: ofRedis, ...settings }
    }),
  ]
}

const TIMEOUT_MS = 5000

/** Opens a connection as the edge does, but accepts any certificate, in order to describe it. Sends nothing. */
function chainFinding(server: Server): Promise<Finding> {
  const { check, host, port, tls } = server
  const name = isIP(host) === 0 ? { servername: host } : {}
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...tls, ...name, rejectUnauthorized: false })
    const end = (finding: Finding): void => {
      socket.destroy()
      resolve(finding)
    }
    const fail = (text: string) => end({ check, status: 'failed', text, fix: showCommand(server) })
    socket.setTimeout(TIMEOUT_MS, () => fail('no TLS handshake within 5 s'))
    socket.once('error', ({ message, code }: NodeJS.ErrnoException) => fail(`no TLS connection: ${code ?? message}`))
    socket.once('secureConnect', () => end(describeChain(server, socket)))
  })
}

function describeChain(server: Server, socket: TLSSocket): Finding {
  const { check, host, setting, caSetting } = server
  const leaf = socket.getPeerCertificate(true)
  const show = `to see it: ${showCommand(server)}`
  const expiry = expiryFinding({ check, validTo: earliestEnd(leaf), fix: `renew it on ${host}; ${show}` })
  if (socket.authorized || expiry.status === 'failed') return expiry
  const failed = (text: string, fix: string): Finding => ({ check, status: 'failed', text, fix: `${fix}; ${show}` })
  // The code of the error, in spite of its type.
  switch (`${socket.authorizationError}`) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return failed(
        `the certificate is for ${leaf.subjectaltname ?? leaf.subject.CN}, not for ${host}`,
        `write one of these names in ${setting}, or make a certificate for ${host}`,
      )
    case 'CERT_NOT_YET_VALID':
      return failed(`the certificate is valid from ${dateOf(Date.parse(leaf.valid_from))}`, 'correct the clocks')
    default:
      return failed(
        `the edge does not trust the certificate (${socket.authorizationError})`,
        `set ${caSetting} to the file of the CA that signed it`,
      )
  }
}

function showCommand({ host, port }: Server): string {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return `openssl s_client -connect ${address} -showcerts </dev/null`
}

/** Returns the first end of a certificate in a chain, in milliseconds since 1970. The last one is its own issuer. */
function earliestEnd(leaf: DetailedPeerCertificate): number {
  const ends: number[] = []
  const seen = new Set<string>()
  let each: DetailedPeerCertificate | undefined = leaf
  while (each !== undefined && !seen.has(each.fingerprint256)) {
    seen.add(each.fingerprint256)
    ends.push(Date.parse(each.valid_to))
    each = each.issuerCertificate
  }
  return Math.min(...ends)
}
