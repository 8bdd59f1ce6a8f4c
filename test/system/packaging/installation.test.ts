/**
 * Each command of docs/installation.md, in its order and as it is written, in a copy of this system: an overlay in memory without
 * a network. A command that cannot run there has its reason in the table, and the test that runs it in another way.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { installed } from '../../support/installed.ts'

for (const [name, of] of [
  ['curl', 'curl'],
  ['haproxy', 'haproxy'],
  ['openssl', 'openssl'],
  ['rpmbuild', 'rpm'],
  ['skopeo', 'skopeo'],
  ['systemd-analyze', 'systemd'],
] as const)
  installed({ variable: name.toUpperCase().replace('-', '_'), names: [name], package: of })

const page = readFileSync('docs/installation.md', 'utf8')
const PROGRAMS =
  'apt-get|curl|dnf|docker|haproxy|helm|install|kubectl|manager-edge|node|npm|npx|openssl|runuser|scp|skopeo|systemctl|useradd'

/** `until`: what a program that does not end prints. `before`, `after`: what an operator or systemd does there. */
interface Step {
  readonly until?: string
  readonly before?: string
  readonly after?: string
}

const run: Step = {}
/** A process that runs from dist keeps its files. */
const leavesDist: Step = { before: 'touch "$repository/dist/in-use"', after: 'rm "$repository/dist/in-use"' }
const daemon = 'no daemon of containers; '
const registry = 'no registry; '
const serviceRuns = '[ "$(readyz)" = 200 ]'

const commands: Readonly<Record<string, Step | string>> = {
  'npm ci': `${registry}it has installed the node_modules of this checkout`,
  // Try it first.
  'npm run demo': { until: 'try it' },
  'npm run demo -- --layout newer': { until: 'try it' },
  'npm run demo -- --port 56000 --operations-port 56001': { until: '127.0.0.1:56001' },
  // Debian package.
  'npm run package:deb': leavesDist,
  'apt-get install ./manager-edge_0.2.0-1_amd64.deb': run,
  'cd /etc/manager-edge': run,
  'cp edge.example.yaml edge.yaml': { after: 'configure' },
  'manager-edge user add alice --file users': run,
  'manager-edge token key keys': run,
  'chown -R root:manager-edge . && chmod -R u=rwX,g=rX,o= .': run,
  'runuser -u manager-edge -- manager-edge check --config /etc/manager-edge/edge.yaml --connect': run,
  'systemctl enable --now manager-edge': { after: 'start_unit' },
  'curl --insecure https://127.0.0.1:55001/readyz': { after: serviceRuns },
  'scp -r root@FIRST-HOST:/etc/manager-edge/. /etc/manager-edge/': 'no second host',
  'chown -R root:manager-edge /etc/manager-edge && chmod -R u=rwX,g=rX,o= /etc/manager-edge': run,
  'manager-edge problems': 'needs the account of a running edge; test/system/process/edge-commands.test.ts',
  'systemctl enable --now manager-edge@1 manager-edge@2': run,
  // rpm.
  'npm run package:rpm': leavesDist,
  'dnf install ./manager-edge-0.2.0-1.x86_64.rpm': 'Debian has no dnf; packages/rpm.ts installs the package with rpm',
  // All packages.
  'npm run package': 'test/system/packaging/packages.test.ts runs its script twice',
  'apt-get install rpm': 'no mirror of Debian; test/support/installed.ts installs it',
  'manager-edge --version': { before: 'use_build' },
  // npm package.
  'npm pack': run,
  'npm install ./manager-edge-0.2.0.tgz && npx manager-edge demo': `${registry}test/system/packaging/npm.test.ts`,
  'npm install -g ./manager-edge-0.2.0.tgz': `${registry}test/system/packaging/npm.test.ts`,
  'mkdir -p /opt/manager-edge && tar xzf manager-edge-0.2.0.tgz -C /opt/manager-edge --strip-components=1': run,
  'cd /opt/manager-edge && npm install --omit=dev': {
    // The dependencies of this checkout, in place of those of a registry.
    before: 'ln -s "$repository/node_modules" /opt/manager-edge/node_modules; npm() { true; }',
    after: 'unset -f npm',
  },
  'npm publish': registry,
  'useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin manager-edge': run,
  'mkdir -p /etc/edge': run,
  'cd /etc/edge': run,
  'cp /opt/manager-edge/config/edge.example.yaml edge.yaml': { after: 'configure' },
  'node /opt/manager-edge/dist/cli.js user add alice --file users': run,
  'node /opt/manager-edge/dist/cli.js token key keys': run,
  'openssl rand -base64 32 > cache.key': run,
  'node /opt/manager-edge/dist/cli.js check --config /etc/edge/edge.yaml --connect': run,
  'cp /opt/manager-edge/config/systemd/*.service /etc/systemd/system/': { after: 'verify_units' },
  'systemctl daemon-reload': run,
  'systemctl stop manager-edge': 'systemd is not the first process; packages/system-package.ts sends the signal',
  'systemctl reload manager-edge': 'systemd is not the first process; test/system/reload sends the signal',
  'install -d -m 750 -o manager-edge -g manager-edge /var/log/manager-edge': run,
  // Containers.
  'docker build -t manager-edge .': `${daemon}test/system/packaging/image.test.ts runs the steps of the Dockerfile`,
  'docker run --read-only --cap-drop ALL --security-opt no-new-privileges -p 55000:55000 -p 127.0.0.1:55001:55001 -v /etc/edge:/etc/edge:ro manager-edge': `${daemon}packages/image-layout.ts starts the image`,
  'docker stop': `${daemon}packages/image-layout.ts stops the image`,
  'docker stop --time 35': `${daemon}packages/image-layout.ts stops the image`,
  'npm run package:image': leavesDist,
  'skopeo copy oci:manager-edge-0.2.0-oci:0.2.0 docker://registry.example/manager-edge:0.2.0': {
    // As to a registry, of which a folder has the manifest and the blobs.
    before: 'skopeo() { command skopeo --insecure-policy "$1" "$2" dir:/tmp/registry; }',
    after: 'unset -f skopeo; test -f /tmp/registry/manifest.json',
  },
  'skopeo copy oci:manager-edge-0.2.0-oci:0.2.0 docker-daemon:manager-edge:0.2.0': daemon,
  'skopeo copy': 'a part of the commands above',
  'docker compose -f config/compose.yaml up --build': `${daemon}test/system/packaging/compose.test.ts renders the file`,
  // Kubernetes.
  'helm upgrade --install manager-edge config/helm/manager-edge --namespace manager-edge --create-namespace --set-file config=edge.yaml --set image.repository=registry.example/manager-edge --set serviceMonitor.enabled=true --set prometheusRule.enabled=true':
    'no cluster; test/system/packaging/chart.test.ts renders the chart with these values',
  'npm run chart:render': 'needs helm; test/system/packaging/chart.test.ts compares what it writes',
  'kubectl kustomize overlay': {
    before:
      'cd "$repository"; mkdir overlay; cp "$folder/overlay.yaml" overlay/kustomization.yaml; cp config/kubernetes/edge.yaml overlay',
  },
  'kubectl apply -k overlay': 'no cluster; test/system/packaging/kubernetes.test.ts checks the objects',
  // Redis and the balancer.
  'manager-edge check --config edge.yaml --connect': 'test/system/process/redis-document.test.ts, with a Redis',
  'haproxy -c -f haproxy.cfg': { before: 'cd "$repository/config"' },
  // Shell completion and manual page.
  'install -d /usr/local/share/zsh/site-functions /etc/fish/completions /usr/local/share/man/man1': run,
  'manager-edge completion bash > /etc/bash_completion.d/manager-edge': {
    before: 'use_build; mkdir -p /etc/bash_completion.d',
  },
  'manager-edge completion zsh > /usr/local/share/zsh/site-functions/_manager-edge': run,
  'manager-edge completion fish > /etc/fish/completions/manager-edge.fish': run,
  'manager-edge man > /usr/local/share/man/man1/manager-edge.1': {
    after: 'man -l --warnings /usr/local/share/man/man1/manager-edge.1 >/dev/null 2>&1 || ! command -v man',
  },
}

interface Section {
  readonly title: string
  readonly found: readonly string[]
}

/** Returns the commands of each section, with those within sentences. A command of several lines is one. */
const sections: readonly Section[] = page.split(/^## /m).flatMap((text) => {
  const pattern = new RegExp(`^\`\`\`(\\w+)\\n([\\s\\S]*?)^\`\`\`$|\`((?:${PROGRAMS})\\s[^\`]+)\``, 'gm')
  const all = [...text.matchAll(pattern)].flatMap(([, language, block, inline]) => {
    if (inline !== undefined) return [inline.replaceAll(/\s+/g, ' ')]
    if (language !== 'sh' || block === undefined) return []
    return block
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.replace(/(?:^|\s+)# .*$/, '').trim())
      .filter((line) => line !== '')
      .flatMap((line) => (line.startsWith('npm ci && ') ? ['npm ci', line.slice('npm ci && '.length)] : [line]))
  })
  return all.length === 0 ? [] : [{ title: text.slice(0, text.indexOf('\n')), found: all }]
})

t.test('the table has each command of the page', async (t) => {
  const found = new Set(sections.flatMap((section) => section.found))
  t.strictSame(
    [...found].filter((command) => !(command in commands)),
    [],
    'commands without a row',
  )
  t.strictSame(
    Object.keys(commands).filter((command) => !found.has(command)),
    [],
    'rows without a command',
  )
})

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

function scriptOf({ found }: Section): string {
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
  return `${functions}${steps.join('\n')}\n`
}

const folder = mkdtempSync(join(tmpdir(), 'edge-installation-'))
t.teardown(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'edit.mjs'), EDIT)
writeFileSync(join(folder, 'overlay.yaml'), /^# overlay\/kustomization\.yaml\n[\s\S]*?(?=^```)/m.exec(page)?.[0] ?? '')

/** Runs the commands of a section in a copy of this system. Returns what they print. */
function runSection(section: Section): string {
  writeFileSync(join(folder, 'script'), `folder=${folder}\n${scriptOf(section)}`)
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

const noRoot = process.getuid?.() !== 0 && 'only root may mount an overlay'
for (const section of sections) {
  const runnable = section.found.filter((command) => typeof commands[command] === 'object')
  if (runnable.length === 0) continue
  t.test(`the commands of the section ${section.title}`, { skip: noRoot }, async (t) => {
    const output = runSection(section)
    for (const [at, command] of section.found.entries()) {
      const step = commands[command]
      if (typeof step !== 'object') continue
      const [, printed = output, status] =
        new RegExp(`^## ${at}\n([\\s\\S]*?)^## ${at} (\\d+)$`, 'm').exec(output) ?? []
      if (!t.equal(status, '0', command)) t.comment(printed.slice(-2000))
    }
  })
}
