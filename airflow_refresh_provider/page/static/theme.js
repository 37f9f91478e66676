// Follows the theme that Airflow's interface has stored for this site; without one, that of the browser.
(function () {
  function apply() {
    var chosen = null;
    try {
      chosen = window.localStorage.getItem("theme");
    } catch (error) {
      // Storage is not available here.
    }
    if (chosen === "light" || chosen === "dark") {
      document.documentElement.dataset.theme = chosen;
    } else {
      delete document.documentElement.dataset.theme;
    }
  }
  apply();
  window.addEventListener("storage", apply);
})();
