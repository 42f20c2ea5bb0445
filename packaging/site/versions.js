// SPDX-License-Identifier: Apache-2.0
// A list of the versions next to the search box: ../versions.json has their names, the newest
// first. Each version is a folder of the site; a page that a version lacks is its first one.
'use strict';

(async () => {
  const root = new URL(document.querySelector('link[rel=stylesheet][href$="site/site.css"]').href);
  const here = new URL('..', root); // the folder of this version
  const answer = await fetch(new URL('../versions.json', here)).catch(() => null);
  if (!answer?.ok) return; // opened from a disk, or a version alone
  const current = here.pathname.split('/').filter(Boolean).pop();
  const select = document.createElement('select');
  select.id = 'site-version';
  select.setAttribute('aria-label', 'Version');
  for (const version of await answer.json()) {
    const option = new Option(version, version, false, version === current);
    select.add(option);
  }
  select.addEventListener('change', async () => {
    const same = location.href.replace(here.href, new URL(`../${select.value}/`, here).href);
    const there = await fetch(same, { method: 'HEAD' }).catch(() => null);
    location.href = there?.ok ? same : new URL(`../${select.value}/index.html`, here).href;
  });
  document.querySelector('.navbar .container, .navbar').append(select);
})();
