/** `manager-edge mcp`: serves assistants until the client disconnects or a signal arrives. */
import { once } from 'node:events'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { version } from '../../../../src/app/process.ts'
import { CommandError, printError } from '../../../../src/cli/terminal.ts'
import type { Contract } from '../../../../src/contracts/endpoint.ts'
import {
  type CredentialOptions,
  parseOrigin,
  readCredentials,
  readTextFile,
  usageError,
} from '../../../tools/src/commands/edge-client.ts'
import { Confirmations } from '../confirmations.ts'
import { createEdge, type Edge, EdgeFailure } from '../edge.ts'
import { serveHttp } from '../http.ts'
import { offeredOperations } from '../operations.ts'
import { createServer } from '../server.ts'
import { createTools } from '../tools.ts'

export interface McpOptions extends CredentialOptions {
  readonly url: string
  readonly contract: Contract
  readonly transport: 'stdio' | 'http'
  readonly maxTokens: number
  readonly allowWrites?: true
  readonly confirmWithin: number
  readonly host: string
  readonly port: number
  readonly secretFile?: string
  readonly allowHost?: readonly string[]
  readonly allowOrigin?: readonly string[]
}

const MIN_SECRET_LENGTH = 16

/** Standard output belongs to the protocol, so everything for people goes to standard error. */
export async function mcp(options: McpOptions): Promise<void> {
  const { contract, transport, maxTokens } = options
  const url = parseOrigin('--url', options.url)
  const secret = transport === 'http' ? await readSecret(options.secretFile) : ''
  if (transport === 'stdio' && options.tokenFile === undefined && options.passwordFile === undefined)
    throw usageError('standard input belongs to the assistant; give --password-file with --user, or --token-file')
  const edge = createEdge({ ...(await readCredentials(options)), url, contract })
  try {
    await checkEdge(edge)
    const operations = offeredOperations(contract)
    const ports = {
      ...{ operations, edge, maxTokens, showPerson: printError },
      ...(options.allowWrites && { confirmations: new Confirmations(options.confirmWithin * 1000) }),
    }
    const tools = createTools(ports)
    const create = () => createServer({ version, ports, tools })
    if (transport === 'stdio') {
      const server = create()
      const closed = new Promise<void>((resolve) => {
        server.onclose = resolve
        process.stdin.once('end', resolve)
      })
      await server.connect(new StdioServerTransport())
      printError(`serving ${operations.reads.length} reads of ${url.origin} on standard input and output`)
      await Promise.race([closed, stopSignal()])
      await server.close()
      return
    }
    const { host, port, allowHost = [], allowOrigin = [] } = options
    const http = await serveHttp({
      ...{ host, port, secret, createServer: create },
      ...{ allowedHosts: allowHost, allowedOrigins: allowOrigin },
    })
    printError(`serving ${operations.reads.length} reads of ${url.origin} at ${http.url}`)
    await stopSignal()
    await http.close()
  } finally {
    await edge.close()
  }
}

async function stopSignal(): Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  await Promise.race([once(process, 'SIGTERM', { signal }), once(process, 'SIGINT', { signal })])
  stop.abort()
}

async function readSecret(file: string | undefined): Promise<string> {
  if (file === undefined) throw usageError('--transport http needs --secret-file, so that no other program can call')
  const secret = (await readTextFile(file)).trim()
  if (secret.length < MIN_SECRET_LENGTH || /\s/.test(secret))
    throw usageError(
      `${file} must have ${MIN_SECRET_LENGTH} characters or more without spaces, such as those of "openssl rand -hex 32"`,
    )
  return secret
}

/** A wrong password or URL ends the command with a sentence, before an assistant meets it. */
async function checkEdge(edge: Edge): Promise<void> {
  try {
    const { status, text } = await edge.send({ method: 'GET', path: '/' })
    if (status === 200) return
    throw new EdgeFailure(
      `GET / of ${edge.url.origin} has status ${status}: ${text.slice(0, 200)}. Check --url and --contract.`,
    )
  } catch (error) {
    throw error instanceof EdgeFailure ? new CommandError(error.message) : error
  }
}
