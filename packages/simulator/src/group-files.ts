/** The shared files of groups: initial contents, what agents receive, and the checksums of both. */
import { createHash, getHashes } from 'node:crypto'
import type { SimAgent, SimGroup } from './model.ts'
import { refusal } from './texts.ts'

const AGENT_CONF = '<agent_config>\n  <!-- Shared agent configuration here -->\n</agent_config>\n'

/** Agents always receive the state of active responses, although it is outside the group's folder. */
export const AR_CONF = [
  'restart-ossec0 - restart-ossec.sh - 0',
  'restart-ossec0 - restart-ossec.cmd - 0',
  'host-deny600 - host-deny.sh - 600',
  'firewall-drop600 - firewall-drop.sh - 600',
  '',
].join('\n')

const ROOTKIT_FILES = [
  '# Files that rootkits leave behind: file ! name :link',
  'tmp/mcliZokhb           ! Bash door ::/rootkits/bashdoor.php',
  'tmp/mclzaKmfa           ! Bash door ::/rootkits/bashdoor.php',
  'dev/.shit/red.tgz       ! Adore Worm ::/rootkits/adorew.php',
  '',
].join('\n')

const ROOTKIT_TROJANS = [
  '# Binaries that rootkits replace: file !pattern!description',
  'ls          !bash|^/bin/sh|dev/[^clu]|\\.tmp/lsfile|duarawkz|/prof|/security|file\\.h!',
  'w           !bash|^/bin/sh|bash|proc\\.h!Trojaned w',
  '',
].join('\n')

const WIN_AUDIT = [
  '# Audit of Windows hosts',
  '$sys32=%WINDIR%\\System32;',
  '',
  '[Disabled Registry tools set] [any] [] ',
  'r:HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Policies\\System -> DisableRegistryTools -> !0;',
  '',
  '[DCOM disabled - PCI_DSS: 10.6.1] [any] [] ',
  'r:HKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\OLE -> EnableDCOM -> N;',
  '',
].join('\n')

export function emptyFiles(): Map<string, string> {
  return new Map([['agent.conf', AGENT_CONF]])
}

export function defaultFiles(): Map<string, string> {
  return new Map([
    ['agent.conf', AGENT_CONF],
    ['rootkit_files.txt', ROOTKIT_FILES],
    ['rootkit_trojans.txt', ROOTKIT_TROJANS],
    ['win_audit_rcl.txt', WIN_AUDIT],
  ])
}

/** Returns every file that agents of the group receive, by name, and the merged file that they fetch. */
export function filesOf(group: SimGroup): Map<string, string> {
  const files = new Map([...group.files, ['ar.conf', AR_CONF] as const].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  files.set('merged.mg', merge(files))
  return files
}

function merge(files: ReadonlyMap<string, string>): string {
  return [...files].map(([name, text]) => `!${Buffer.byteLength(text)} ${name}\n${text}`).join('')
}

/** Algorithm names of the manager's language that have another name here. */
const aliases: Readonly<Record<string, string>> = { blake2b: 'blake2b512', blake2s: 'blake2s256' }

const known = new Set(getHashes().map((name) => name.toLowerCase()))

/** Returns the hexadecimal digest of a text; throws 1723 for an unknown algorithm. */
export function digest(text: string, algorithm = 'md5'): string {
  const name = aliases[algorithm] ?? algorithm.replaceAll('_', '-')
  if (!known.has(name)) throw refusal(1723, algorithm)
  return createHash(name).update(text).digest('hex')
}

/** Returns the checksums that a synchronised agent reports; the group of highest priority is last. */
export function agentSums(
  agent: Pick<SimAgent, 'groups'>,
  groups: ReadonlyMap<string, SimGroup>,
): { configSum: string; mergedSum: string } {
  const names = agent.groups.length > 0 ? agent.groups : ['default']
  const parts = names.flatMap((name) => groups.get(name) ?? [])
  return {
    configSum: digest(parts.map((group) => group.files.get('agent.conf') ?? '').join('')),
    mergedSum: digest(parts.map((group) => filesOf(group).get('merged.mg') ?? '').join('')),
  }
}
