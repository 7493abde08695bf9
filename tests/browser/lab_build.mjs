// SPDX-License-Identifier: MIT
// JupyterLab from its packages, as the folder that pip installs as share/jupyter/lab:
//   lab_build.mjs MODULES DIR    static/index.html and its bundle, schemas, themes
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
const [modules, out] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'package.json'));
const esbuild = require('esbuild');
const root = path.join(modules, 'node_modules');
const scope = path.join(root, '@jupyterlab');
const about = name => JSON.parse(fs.readFileSync(path.join(root, name, 'package.json')));
const imports = [], names = { extension: [], mimeExtension: [] };

fs.mkdirSync(path.join(out, 'static'), { recursive: true });
for (const dir of fs.readdirSync(scope).sort()) {
  const name = '@jupyterlab/' + dir, j = about(name).jupyterlab;
  if (!j?.extension && !j?.mimeExtension)
    continue;
  for (const kind of ['extension', 'mimeExtension']) {
    if (!j[kind])
      continue;
    const at = names[kind].push(`e${imports.length}`) && `e${imports.length}`;
    imports.push(`import * as ${at} from '${name}${typeof j[kind] === 'string' ? '/' + j[kind] : ''}';`);
  }
  const style = about(name).styleModule;
  if (style && !j.themePath)
    imports.push(`import '${name}/${style}';`);
  if (j.schemaDir)
    fs.cpSync(path.join(scope, dir, j.schemaDir), path.join(out, 'schemas', name), { recursive: true });
  if (j.themePath)
    await esbuild.build({ ...common(), entryPoints: { index: path.join(scope, dir, j.themePath) },
      outdir: path.join(out, 'themes', name) });
}

const entry = `${imports.join('\n')}
import { JupyterLab } from '@jupyterlab/application';
import { IConnectionStatus, IServiceManager } from '@jupyterlab/services';
import { PluginRegistry } from '@lumino/coreutils';
import { PageConfig } from '@jupyterlab/coreutils';
const all = list => list.flatMap(m => m.default ?? []);
const pluginRegistry = new PluginRegistry();
const plugins = all([${names.extension}]).filter(p => !PageConfig.Extension.isDisabled(p.id));
pluginRegistry.registerPlugins(plugins);
const connectionStatus = await pluginRegistry.resolveOptionalService(IConnectionStatus);
const serviceManager = await pluginRegistry.resolveRequiredService(IServiceManager);
const lab = new JupyterLab({ pluginRegistry, serviceManager, connectionStatus, mimeExtensions: all([${names.mimeExtension}]),
  disabled: { matches: [], patterns: [] }, deferred: { matches: [], patterns: [] }, availablePlugins: [] });
await lab.start({ ignorePlugins: [], bubblingKeydown: true });
window.jupyterapp = lab;
`;

// Icons are text for scripts, and files for styles; each package is there once, as its tokens are compared.
function common() {
  const plugin = { name: 'lab', setup(build) {
    build.onResolve({ filter: /\.svg$/ }, a => a.kind === 'url-token' && a.path[0] === '.' ?
      { path: path.resolve(a.resolveDir, a.path), namespace: 'picture' } : undefined);
    build.onLoad({ filter: /./, namespace: 'picture' }, a => ({ contents: fs.readFileSync(a.path), loader: 'dataurl' }));
    // A dynamic import of CommonJS has only `default`; the terminal looks for names.
    build.onResolve({ filter: /^@xterm\// }, a => a.kind === 'dynamic-import' ? { path: a.path, namespace: 'xterm' } : undefined);
    build.onLoad({ filter: /./, namespace: 'xterm' }, a => ({ resolveDir: modules, contents: `import * as x from '${a.path}';\n` +
      ['Terminal', 'FitAddon', 'WebglAddon', 'CanvasAddon', 'WebLinksAddon', 'SearchAddon'].map(n => `export const ${n} = x['${n}'];`).join('\n') }));
    build.onResolve({ filter: /^~/ }, a => build.resolve(a.path.slice(1), { kind: a.kind, resolveDir: a.resolveDir }));
    build.onResolve({ filter: /^(@jupyterlab|@lumino)\// }, a => a.pluginData === 1 ? undefined :
      build.resolve(a.path, { kind: a.kind, resolveDir: modules, pluginData: 1 }));
  } };
  return { bundle: true, format: 'esm', minify: true, sourcemap: false, absWorkingDir: modules, plugins: [plugin], alias: { path: 'path-browserify', process: 'process/browser' }, platform: 'browser', logLevel: 'error',
    loader: { '.svg': 'text', '.woff': 'file', '.woff2': 'file', '.ttf': 'file', '.eot': 'file', '.png': 'file', '.gif': 'file', '.md': 'text' },
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis', 'process.env': '{}' } };
}

await esbuild.build({ ...common(), splitting: true, stdin: { contents: entry, resolveDir: modules, sourcefile: 'main.js' }, entryNames: 'main',
  outdir: path.join(out, 'static') });
// As the template of JupyterLab's package has it.
fs.writeFileSync(path.join(out, 'static', 'index.html'), `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{% block title %}{{page_config['appName'] | e}}{% endblock %}</title>
{% block favicon %}{% for file in [] %}<link rel="icon" href="{{ file }}">{% endfor %}{% endblock %}
<link rel="stylesheet" href="{{page_config.fullStaticUrl}}/main.css"></head><body>
{# Copy so we do not modify the page_config with updates. #}{% set page_config_full = page_config.copy() %}
<script id="jupyter-config-data" type="application/json">{{ page_config_full | tojson }}</script>
<script type="module" src="{{page_config.fullStaticUrl}}/main.js"></script>
<script>(function () { var u = new URL(window.location.href);
  if (u.searchParams.get('token')) { u.searchParams.delete('token'); window.history.replaceState({}, '', u.href); } })();</script>
</body></html>
`);
