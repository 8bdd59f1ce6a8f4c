/** Each command of docs/installation.md, in its order and as it is written. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Commands, type Step, testCommands } from '../../support/documents/page-commands.ts'
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

const run: Step = {}
/** A process that runs from dist keeps its files. */
const leavesDist: Step = { before: 'touch "$repository/dist/in-use"', after: 'rm "$repository/dist/in-use"' }
const daemon = 'no daemon of containers; '
const registry = 'no registry; '
const serviceRuns = '[ "$(readyz)" = 200 ]'

const commands: Commands = {
  'npm ci': `${registry}it has installed the node_modules of this checkout`,
  // Try it first.
  'npm run demo -- --layout v4': { until: 'try it' },
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
  'chown -R root:manager-edge . && chmod -R u=rwX,g=rX,o= .': run,
  'node /opt/manager-edge/dist/cli.js check --config /etc/edge/edge.yaml --connect': run,
  'cp /opt/manager-edge/config/systemd/*.service /etc/systemd/system/': { after: 'verify_units' },
  'systemctl daemon-reload': run,
  'systemctl enable --now manager-edge': { after: 'start_unit' },
  'curl --insecure https://127.0.0.1:55001/readyz': { after: serviceRuns },
  'systemctl stop manager-edge': 'systemd is not the first process; packages/system-package.ts sends the signal',
  'systemctl reload manager-edge': 'systemd is not the first process; test/system/reload sends the signal',
  'install -d -m 750 -o manager-edge -g manager-edge /var/log/manager-edge': run,
  // Containers.
  'docker build -t manager-edge .': `${daemon}test/system/packaging/image.test.ts runs the steps of the Dockerfile`,
  'docker run --read-only --cap-drop ALL --security-opt no-new-privileges -p 55000:55000 -p 127.0.0.1:55001:55001 -v /etc/edge:/etc/edge:ro manager-edge': `${daemon}packages/image-layout.ts starts the image`,
  'docker stop --time 35': `${daemon}packages/image-layout.ts stops the image`,
  'npm run package:image': leavesDist,
  'skopeo copy oci:manager-edge-0.2.0-oci:0.2.0 docker://registry.example/manager-edge:0.2.0': {
    // As to a registry, of which a folder has the manifest and the blobs.
    before: 'skopeo() { command skopeo --insecure-policy "$1" "$2" dir:/tmp/registry; }',
    after: 'unset -f skopeo; test -f /tmp/registry/manifest.json',
  },
  'skopeo copy oci:manager-edge-0.2.0-oci:0.2.0 docker-daemon:manager-edge:0.2.0': daemon,
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
  // The balancer.
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

const path = 'docs/installation.md'
const overlay = /^# overlay\/kustomization\.yaml\n[\s\S]*?(?=^```)/m.exec(readFileSync(path, 'utf8'))?.[0] ?? ''
testCommands(t, { path, commands, files: { 'overlay.yaml': overlay } })
