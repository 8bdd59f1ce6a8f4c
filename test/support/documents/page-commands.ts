/**
 * Runs each command of a page, in its order and as it is written, in a copy of this system: an overlay in memory without a network.
 * A command that cannot run there has its reason in the table of the test, and the test that runs it in another way.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'

const PROGRAMS =
  'apt-get|curl|dnf|docker|haproxy|helm|install|journalctl|kubectl|manager-edge|node|npm|npx|openssl|runuser|scp|skopeo|systemctl|tar|useradd'

/** `until`: what a program that does not end prints. `before`, `after`: what an operator or systemd does there. */
export interface Step {
  readonly until?: string
  readonly before?: string
  readonly after?: string
}

/** A row for each command: how it runs, or why it does not. */
export type Commands = Readonly<Record<string, Step | string>>

export interface Page {
  readonly path: string
  readonly commands: Commands
  /** The sections run one after the other in one copy of the system. Otherwise each one has its own copy. */
  readonly whole?: boolean
  /** What the steps call, in bash, after the functions of this file. */
  readonly functions?: string
  /** Files in the folder that the steps know as `$folder`. */
  readonly files?: Readonly<Record<string, string>>
}

interface Section {
  readonly title: string
  readonly found: readonly string[]
}

/** Returns the commands of each section, with those within sentences. A command of several lines is one. */
function sectionsOf(text: string): readonly Section[] {
  const pattern = new RegExp(`^\`\`\`(\\w+)\\n([\\s\\S]*?)^\`\`\`$|\`((?:${PROGRAMS})\\s[^\`]+)\``, 'gm')
  return text.split(/^## /m).flatMap((section) => {
    const found = [...section.matchAll(pattern)].flatMap(([, language, block, inline]) => {
      if (inline !== undefined) return [inline.replaceAll(/\s+/g, ' ')]
      if (language !== 'sh' || block === undefined) return []
      return block
        .replaceAll(/\\\n\s*/g, '')
        .split('\n')
        .map((line) => line.replace(/(?:^|\s+)# .*$/, '').trim())
        .filter((line) => line !== '')
        .flatMap((line) => (line.startsWith('npm ci && ') ? ['npm ci', line.slice('npm ci && '.length)] : [line]))
    })
    return found.length === 0 ? [] : [{ title: section.slice(0, section.indexOf('\n')), found }]
  })
}

/** What the steps call. `folder` has the files below. */
const functions = `
repository=${resolve('.')}
password='a long password of alice'
readyz() { curl --insecure --silent --output /dev/null --write-out '%{http_code}' https://127.0.0.1:55001/readyz; }
# Edits the copy of the example: the nodes and the account of a simulated cluster, and the certificate that it names.
configure() {
  node "$repository/dist/cli.js" simulate >"$folder/simulated" 2>&1 &
  for i in $(seq 200); do grep -q 'http://127' "$folder/simulated" && break; sleep 0.05; done
  node "$folder/edit.mjs" "$folder/simulated" "$PWD" "$repository"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=edge -keyout tls.key -out tls.crt 2>/dev/null
}
# For commands of an installation, where the section installs none.
use_build() { manager-edge() { node "$repository/dist/cli.js" "$@"; }; }
# What systemd would do.
start_unit() {
  for unit in /usr/lib/systemd/system /etc/systemd/system; do
    [ -f $unit/manager-edge.service ] && start=$(sed -n 's/^ExecStart=//p' $unit/manager-edge.service)
  done
  runuser -u manager-edge -- $start >"$folder/edge.log" 2>&1 &
  for i in $(seq 200); do [ "$(readyz)" = 200 ] && return 0; sleep 0.1; done
  cat "$folder/edge.log"
  return 1
}
verify_units() { systemd-analyze verify /etc/systemd/system/manager-edge.service; }
# Runs a program until it prints a text.
until_prints() {
  setsid bash -c "$2" >"$folder/printed" 2>&1 &
  local group=$!
  for i in $(seq 600); do grep -qi "$1" "$folder/printed" && break; sleep 0.1; done
  kill -- -$group; wait $group 2>/dev/null
  grep -qi "$1" "$folder/printed" || { cat "$folder/printed"; return 1; }
}
# systemd is not the first process: systemctl changes links only, and starts nothing.
systemctl() { command systemctl "\${@/--now/--quiet}"; }
# The packages are built without compression.
export QUICK=1 SYSTEMD_OFFLINE=1
ip link set lo up
cd "$repository"
`
const EDIT = `
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const [, , simulated, folder, repository] = process.argv
const { parse, stringify } = createRequire(repository + '/')('yaml')
const file = folder + '/edge.yaml'
const settings = parse(readFileSync(file, 'utf8'))
const text = readFileSync(simulated, 'utf8')
const { cluster } = parse(text.slice(text.search(/^cluster:/m)))
const { nodes, credentials } = cluster
settings.cluster.nodes = nodes
settings.cluster.credentials = credentials
delete settings.cluster.tls
delete settings.cluster.addresses
delete settings.cache
delete settings.audit
writeFileSync(file, stringify(settings))
`

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

function scriptOf({ found }: Section, { commands, functions: own = '' }: Page): string {
  const steps = found.flatMap((command, at) => {
    const step = commands[command]
    if (step === undefined || typeof step === 'string') return []
    const { before = ':', after = ':', until } = step
    const action =
      until === undefined
        ? `eval ${quoted(command)} <<< "$password"`
        : `until_prints ${quoted(until)} ${quoted(command)}`
    return [`echo "## ${at}"\n${before}\n${action} && { ${after}\n}\nprintf "\\n## ${at} $?\\n"`]
  })
  return `${functions}${own}${steps.join('\n')}\n`
}

/** Registers the tests of a page with those of the file. */
export function testCommands(t: Test, page: Page): void {
  const { path, commands, whole = false, files = {} } = page
  const text = readFileSync(path, 'utf8')
  const sections = sectionsOf(text)
  t.test(`the table has each command of ${path}`, async (t) => {
    const found = new Set(sections.flatMap((section) => section.found))
    const withoutRow = [...found].filter((command) => !(command in commands))
    t.strictSame(withoutRow, [], 'commands without a row')
    const withoutCommand = Object.keys(commands).filter((command) => !found.has(command))
    t.strictSame(withoutCommand, [], 'rows without a command')
  })

  const folder = mkdtempSync(join(tmpdir(), 'edge-page-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, content] of Object.entries({ 'edit.mjs': EDIT, ...files }))
    writeFileSync(join(folder, name), content)

  const noRoot = process.getuid?.() !== 0 && 'only root may mount an overlay'
  const all = whole ? [{ title: 'all', found: sections.flatMap(({ found }) => found) }] : sections
  for (const section of all) {
    if (!section.found.some((command) => typeof commands[command] === 'object')) continue
    t.test(`the commands of ${path}: ${section.title}`, { skip: noRoot }, async (t) => {
      const output = runIn(folder, scriptOf(section, page))
      for (const [at, command] of section.found.entries()) {
        const step = commands[command]
        if (typeof step !== 'object') continue
        const [, printed = output, status] =
          new RegExp(`^## ${at}\n([\\s\\S]*?)^## ${at} (\\d+)$`, 'm').exec(output) ?? []
        if (!t.equal(status, '0', command)) t.comment(printed.slice(-2000))
      }
    })
  }
}

/** Runs a script in a copy of this system. Returns what it prints. */
function runIn(folder: string, script: string): string {
  writeFileSync(join(folder, 'script'), `folder=${folder}\n${script}`)
  const changes = join(folder, 'changes')
  mkdirSync(changes, { recursive: true })
  const inside = `
    mount -t tmpfs -o mode=755 tmpfs ${changes}
    mkdir ${changes}/{upper,work,system}
    mount -t overlay overlay -o lowerdir=/,upperdir=${changes}/upper,workdir=${changes}/work ${changes}/system
    mount --bind /dev ${changes}/system/dev
    mount -t proc proc ${changes}/system/proc
    exec chroot ${changes}/system /bin/bash ${join(folder, 'script')} 2>&1`
  const apart = ['--mount', '--net', '--pid', '--fork', '--kill-child']
  return execFileSync('unshare', [...apart, 'bash', '-euc', inside], { encoding: 'utf8', maxBuffer: 64 << 20 })
}
