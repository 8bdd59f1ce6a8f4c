import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { putUser } from '../../../../src/access/users-file.ts'
import { installed } from '../../../support/installed.ts'
import { program } from '../../process/program.ts'
import { type Packages, run, version } from './build.ts'

const skopeo = installed({ variable: 'SKOPEO', names: ['skopeo'], package: 'skopeo' })
const umoci = installed({ variable: 'UMOCI', names: ['umoci'], package: 'umoci' })
const dockerfile = readFileSync('Dockerfile', 'utf8')

export async function checkImageLayout(t: Test, { folder, first, second }: Packages): Promise<void> {
  const { layout } = first
  const name = `oci:${layout}:${version}`
  const blob = (digest: string) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')))
  const json = (digest: string) => JSON.parse(blob(digest).toString())
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))

  await t.test('the same sources give the same bytes, and each blob has the digest of its name', async (t) => {
    t.equal(run('diff', '--recursive', layout, second.layout), '')
    for (const digest of readdirSync(join(layout, 'blobs/sha256')))
      t.equal(
        createHash('sha256')
          .update(blob(`sha256:${digest}`))
          .digest('hex'),
        digest,
      )
  })

  await t.test('skopeo finds the release, and converts the image to that of Docker', async (t) => {
    const inspected = JSON.parse(run(skopeo, 'inspect', name))
    const commit = readFileSync('dist/commit', 'utf8').trim()
    t.match(inspected, {
      Digest: index.manifests[0].digest,
      Os: 'linux',
      Labels: {
        'org.opencontainers.image.title': 'manager-edge',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.revision': commit,
      },
    })
    const archive = join(folder, 'docker')
    run(skopeo, 'copy', '--insecure-policy', '--quiet', name, `dir:${archive}`, '--format', 'v2s2')
    const { config } = JSON.parse(readFileSync(join(archive, 'manifest.json'), 'utf8'))
    const converted = JSON.parse(readFileSync(join(archive, config.digest.replace('sha256:', '')), 'utf8')).config
    // The texts of the Dockerfile, read without the code that builds the layout.
    const line = (pattern: RegExp) => JSON.parse(pattern.exec(dockerfile)?.[1] ?? 'null')
    t.match(converted, {
      User: '10001:10001',
      WorkingDir: '/edge',
      Entrypoint: line(/^ENTRYPOINT (\[.*\])$/m),
      Cmd: line(/^CMD (\[.*\])$/m),
      Healthcheck: {
        Test: ['CMD', ...line(/^HEALTHCHECK .* CMD (\[.*\])$/m)],
        Interval: 10e9,
        Timeout: 3e9,
        StartPeriod: 20e9,
        Retries: 3,
      },
    })
    t.match(dockerfile, /^USER 10001:10001$/m)
    t.match(dockerfile, '--interval=10s --timeout=3s --start-period=20s --retries=3')
    t.strictSame(Object.keys(converted.ExposedPorts), ['55000/tcp', '55001/tcp'])
    t.ok(converted.Env.includes('NODE_ENV=production'))
  })

  await t.test('its bill of materials refers to the image, and lists Node.js and its libraries', async (t) => {
    const [image, artifact] = index.manifests
    t.equal(artifact.artifactType, 'application/vnd.cyclonedx+json')
    const { subject, layers } = json(artifact.digest)
    t.equal(subject.digest, image.digest)
    const text = blob(layers[0].digest).toString()
    t.equal(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text), null)
    const names: string[] = JSON.parse(text).components.map(({ purl }: { purl: string }) => purl)
    t.ok(names.includes(`pkg:generic/node@${process.versions.node}`))
    for (const library of ['pkg:deb/debian/libc6@', 'pkg:npm/fastify@', 'pkg:npm/preact@'])
      t.ok(
        names.some((each) => each.startsWith(library)),
        library,
      )
  })

  const noRoot = process.getuid?.() !== 0 && 'only root may unpack an image and start it as another user'
  await t.test('unpacked, it serves a cluster, is healthy and stops gracefully', { skip: noRoot }, async (t) => {
    const bundle = join(folder, 'bundle')
    run(umoci, 'unpack', '--image', `${layout}:${version}`, bundle)
    const root = join(bundle, 'rootfs')
    const { process: start } = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8'))
    t.strictSame(readdirSync(join(root, 'edge')).sort(), [
      'LICENSE',
      'config',
      'dist',
      'node_modules',
      'package.json',
      'sbom.cdx.json',
    ])

    const account = { username: 'edge', password: 'only-for-tests' }
    const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
    t.teardown(() => simulator.close())
    const settings = {
      listen: { port: 0, drain: { delay: '0s', limit: '10s' } },
      operations: { port: 0 },
      cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
      access: { users: 'users', roles: { alice: ['administrator'] } },
    }
    const etc = join(folder, 'etc')
    mkdirSync(etc)
    writeFileSync(join(etc, 'edge.yaml'), stringify(settings))
    await putUser(join(etc, 'users'), 'alice', 'password of alice', 4)
    cpSync(etc, join(root, 'etc/edge'), { recursive: true })
    run('chmod', '-R', 'a+rX', join(root, 'etc/edge'))

    // With the root, folder, user and environment of the image: nothing of this system is seen, not even /proc.
    const { uid, gid } = start.user
    const inside = ['unshare', `--root=${root}`, `--wd=${start.cwd}`, `--setgid=${gid}`, `--setuid=${uid}`]
    const started = (args: readonly string[], ...more: string[]) =>
      program(t, args.slice(1), {
        executable: 'env',
        node: ['-i', ...start.env, ...more, ...inside],
        cli: args[0] ?? '',
      })
    const edge = started(start.args)
    const [, url = ''] = await edge.until(/"url":"([^"]+)"/)
    const [, operations = ''] = await edge.until(/"operationsUrl":"([^"]+)"/)
    const headers = { authorization: `Basic ${btoa('alice:password of alice')}` }
    t.equal((await fetch(`${url}/agents`, { headers })).status, 200)
    const health = ['node', 'config/healthcheck.mjs']
    const port = `EDGE_OPERATIONS_PORT=${new URL(operations).port}`
    const healthy = await started(health, port).ended
    t.equal(healthy.code, 0, healthy.err)
    edge.child.kill('SIGTERM')
    const ended = await edge.ended
    t.equal(ended.code, 0, ended.out + ended.err)
    t.equal((await started(health, port).ended).code, 1)
  })
}
