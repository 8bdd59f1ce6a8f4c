import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { LOCAL_FACTOR, MiB, PROCESS_BYTES, ROW_BYTES, residentBytes } from '../../bench/memory-formula.ts'

interface Port {
  readonly name?: string
  readonly port?: number | string
  readonly containerPort?: number
  readonly targetPort?: string
}
/** Every kind has its own shape. A missing member fails the test that reads it. */
type Manifest = ReturnType<typeof parse>

const folder = 'config/kubernetes'
const text = (name: string) => readFileSync(join(folder, name), 'utf8')
const kustomization = parse(text('kustomization.yaml'))
const manifests: readonly Manifest[] = kustomization.resources.flatMap(documents)
const secrets = documents('secret.example.yaml')
const settings = parse(text('edge.yaml'))
const pod = one('Deployment').spec.template.spec
const [container] = pod.containers

function documents(name: string): Manifest[] {
  return [parseAllDocuments(text(name))].flat().flatMap((document) => {
    t.strictSame(document.errors, [], `${name} is YAML`)
    return document.toJS() ?? []
  })
}

function one(kind: string, name = 'manager-edge'): Manifest {
  const found = manifests.filter((each) => each.kind === kind && each.metadata.name === name)
  t.equal(found.length, 1, `one ${kind} ${name}`)
  return found[0]
}

/** Returns the seconds of a setting such as 5s, or of its default if the file omits it. */
function seconds(path: readonly [string, string, string]): number {
  const of = (tree: Manifest) => path.reduce((at, name) => at?.[name], tree)
  return Number.parseFloat(of(settings) ?? of(parse(readFileSync('config/default.yaml', 'utf8'))))
}

t.test('the base contains every file, and placeholders of secrets are not applied', async (t) => {
  const named = [...kustomization.resources, ...kustomization.configMapGenerator[0].files]
  t.strictSame(
    readdirSync(folder).sort(),
    [...named, 'kustomization.yaml', 'secret.example.yaml'].sort(),
    'every file is listed',
  )
  t.notOk(kustomization.resources.includes('secret.example.yaml'))
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.equal(container.image, `manager-edge:${version}`, 'the image of this release')
})

t.test('selectors match the pods, and each port has the same number everywhere', async (t) => {
  const { labels } = one('Deployment').spec.template.metadata
  for (const { kind, spec } of manifests) {
    const selector = kind === 'Service' ? spec.selector : (spec.podSelector ?? spec.selector).matchLabels
    t.strictSame(selector, labels, kind)
  }
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: Port) => [name, containerPort]))
  t.strictSame(ports, { api: settings.listen.port, operations: settings.operations.port })
  const exposed = /^EXPOSE (.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1]?.split(' ').map(Number)
  t.strictSame(exposed, Object.values(ports), 'as the image says')
  for (const service of manifests.filter(({ kind }) => kind === 'Service'))
    for (const { port, targetPort = '' } of service.spec.ports) t.equal(ports[targetPort], port, service.metadata.name)
  for (const host of [settings.listen.host, settings.operations.host])
    t.equal(host, '0.0.0.0', 'pods accept connections from other machines')
  for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const { path, port, scheme } = container[name].httpGet
    t.equal(scheme, settings.operations.tls ? 'HTTPS' : 'HTTP', 'the kubelet does not verify the certificate')
    t.equal(port, 'operations', name)
    t.equal(path, name === 'readinessProbe' ? '/readyz' : '/livez')
  }
})

t.test('the network policy allows exactly the connections of the configuration', async (t) => {
  const { ingress, egress, policyTypes } = one('NetworkPolicy').spec
  t.strictSame(policyTypes, ['Ingress', 'Egress'])
  t.strictSame(
    ingress.flatMap(({ ports }: { ports: Port[] }) => ports.map(({ port }) => port)),
    [settings.listen.port, settings.operations.port],
  )
  t.ok(ingress[1].from, 'the operations listener has a list of allowed sources')
  const redis = new URL(settings.cache.redis.url)
  const out = egress.flatMap(({ to, ports }: { to: Manifest[]; ports: Port[] }) =>
    to.flatMap(({ ipBlock }) => (ipBlock ? ports.map(({ port }) => `${ipBlock.cidr} ${port}`) : [])),
  )
  const nodePorts = new Set(settings.cluster.nodes.map(({ url }: { url: string }) => new URL(url).port))
  t.strictSame(out, [
    ...settings.cluster.addresses.flatMap((range: string) => [...nodePorts].map((port) => `${range} ${port}`)),
    `${redis.hostname}/32 ${redis.port}`,
  ])
})

t.test('a pod runs without privileges, and a rollout can finish the graceful shutdown', async (t) => {
  t.match(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  const user = /^USER (\d+):(\d+)$/m.exec(readFileSync('Dockerfile', 'utf8'))
  t.strictSame([user?.[1], user?.[2]].map(Number), [pod.securityContext.runAsUser, pod.securityContext.runAsGroup])
  t.strictSame(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  t.equal(pod.automountServiceAccountToken, false)
  t.equal(pod.enableServiceLinks, false)
  for (const { readOnly, name } of container.volumeMounts) t.equal(readOnly, true, name)
  t.ok(
    pod.terminationGracePeriodSeconds > seconds(['listen', 'drain', 'limit']),
    'the graceful shutdown can finish before SIGKILL',
  )
  const { periodSeconds, failureThreshold } = container.readinessProbe
  t.ok(
    periodSeconds * failureThreshold < seconds(['listen', 'drain', 'delay']),
    'a draining replica receives no requests',
  )
  t.ok(one('Deployment').spec.replicas > one('PodDisruptionBudget').spec.maxUnavailable, 'one replica stays available')
})

t.test('the edge accepts its configuration with exactly the listed secrets', async (t) => {
  const place = t.testdir({})
  const inPlace = (path: string) => join(place, path)
  for (const { name, mountPath } of container.volumeMounts.filter(({ subPath }: Manifest) => subPath === undefined)) {
    const { secret } = pod.volumes.find((volume: Manifest) => volume.name === name)
    t.equal(secret.defaultMode, 0o440, `only the group of the pod can read ${name}`)
    const { stringData } = secrets.find(({ metadata }) => metadata.name === secret.secretName)
    for (const file of Object.keys(stringData)) {
      mkdirSync(inPlace(mountPath), { recursive: true })
      writeFileSync(inPlace(join(mountPath, file)), contentOf(file))
    }
  }
  t.match(Object.keys(secrets.find(({ metadata }) => metadata.name === 'manager-edge-keys').stringData)[0], /\.pem$/)
  t.match(await createKeyFile(inPlace('/etc/edge/keys')), /\.pem$/)
  const file = inPlace(container.args.at(-1))
  mkdirSync(dirname(file), { recursive: true })
  const mounted = container.volumeMounts.find(({ subPath }: Manifest) => subPath === 'edge.yaml')
  t.equal(mounted.mountPath, container.args.at(-1), 'the configuration is mounted at the path of the argument')
  const written = text('edge.yaml').replaceAll('/etc/edge/', `${inPlace('/etc/edge')}/`)
  writeFileSync(file, written)
  const loaded = await loadConfig({ file, env: {} })
  t.strictSame(loaded.ok ? [] : loaded.faults, [])
  writeFileSync(file, written.replace('secrets/users', 'secrets/nobody'))
  t.equal((await loadConfig({ file, env: {} })).ok, false, 'a file that is not mounted is a fault')
})

t.test('the memory limit is twice what a replica with the default settings occupies', async (t) => {
  const bytes = (size: string) => Number.parseFloat(size) * (size.includes('Gi') ? 1024 : 1) * MiB
  const caches = [settings, parse(readFileSync('config/default.yaml', 'utf8'))].map(({ cache }) => cache)
  const [localBytes = ''] = caches.flatMap((cache) => cache?.localBytes ?? [])
  const [snapshotBytes = ''] = caches.flatMap((cache) => cache?.snapshots?.localBytes ?? [])
  const sizes = { localBytes: bytes(localBytes), snapshotBytes: bytes(snapshotBytes) }
  const occupied = residentBytes({ ...sizes, rows: 100_000 })
  const limit = bytes(container.resources.limits.memory)
  t.ok(limit >= 2 * occupied, `${limit / MiB} MiB for ${occupied / MiB} MiB`)
  const documented = readFileSync('docs/operations.md', 'utf8').replaceAll(/\s+/g, ' ')
  const formula = `${PROCESS_BYTES / MiB} MiB + ${LOCAL_FACTOR} × (\`cache.localBytes\` + \`cache.snapshots.localBytes\`) + ${ROW_BYTES / 1024} KiB × stored responses`
  t.ok(documented.includes(formula), `docs/operations.md states: ${formula}`)
  t.ok(documented.includes(`${Math.ceil(occupied / MiB)} MiB`), 'and the result for the default settings')
})

t.test('kustomize builds the base', async (t) => {
  let built: string
  try {
    built = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT')
      return t.pass('kustomize builds the base', { skip: 'kubectl is not installed' })
    throw fault
  }
  const all = parseAllDocuments(built).map((document) => document.toJS())
  t.strictSame(all.map(({ kind }) => kind).sort(), [...manifests.map(({ kind }) => kind), 'ConfigMap'].sort())
  const { name } = all.find(({ kind }) => kind === 'ConfigMap').metadata
  const volumes: Manifest[] = all.find(({ kind }) => kind === 'Deployment').spec.template.spec.volumes
  t.equal(volumes.find((volume) => volume.configMap).configMap.name, name, 'other settings are another name')
  t.match(name, /^manager-edge-\w{10}$/)
})

/** Certificates and keys must be in PEM form. */
function contentOf(file: string): string {
  if (file.endsWith('.crt')) return readFileSync('test/support/certificates/first.crt', 'utf8')
  if (file.endsWith('.key')) return readFileSync('test/support/certificates/first.key', 'utf8')
  return file === 'cache-key' ? 'k'.repeat(44) : 'a-secret-of-its-own\n'
}
