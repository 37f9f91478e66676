import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/**
 * Stops the thread that reaches a point which a test has named, until the test releases it.
 *
 * Points are named by files in one folder: `<hold>.rule` says what to stop at, `<hold>.held` appears when a thread has
 * reached it, it goes on when `<hold>.rule` is removed, and `<hold>.over` appears when it has ended. A stopped thread
 * ignores interrupts: a cancellation comes too late for a statement that is already in its commit.
 */
public final class Holds {
    public static final String FOLDER = "crash.holds";
    private static final long LONGEST_MILLIS = 600000L;

    private Holds() {}

    /** Stop here if a rule names this point: its kind, where it is, and a part of what is being done. */
    public static void at(String folder, String point, String place, String content) {
        File[] rules = folder == null ? null : new File(folder).listFiles();
        for (int i = 0; rules != null && i < rules.length; i++) {
            if (rules[i].getName().endsWith(".rule") && names(rules[i], point, place, content)) {
                hold(rules[i]);
            }
        }
    }

    /** Whether a rule names this point; no thread is stopped. */
    public static boolean named(String folder, String point, String place, String content) {
        File[] rules = folder == null ? null : new File(folder).listFiles();
        for (int i = 0; rules != null && i < rules.length; i++) {
            if (rules[i].getName().endsWith(".rule") && names(rules[i], point, place, content)) {
                return true;
            }
        }
        return false;
    }

    private static boolean names(File rule, String point, String place, String content) {
        Properties wanted = new Properties();
        try {
            InputStream in = new FileInputStream(rule);
            try {
                wanted.load(in);
            } finally {
                in.close();
            }
        } catch (IOException withdrawn) {
            return false;
        }
        return point.equals(wanted.getProperty("point"))
            && place.contains(wanted.getProperty("place"))
            && content.contains(wanted.getProperty("content"));
    }

    private static void hold(File rule) {
        if (!made(beside(rule, ".held"))) {
            return;
        }
        new Watcher(Thread.currentThread(), beside(rule, ".over")).start();
        long end = System.currentTimeMillis() + LONGEST_MILLIS;
        while (rule.exists() && System.currentTimeMillis() < end) {
            try {
                Thread.sleep(20L);
            } catch (InterruptedException tooLate) {
                continue;
            }
        }
    }

    private static File beside(File rule, String suffix) {
        return new File(rule.getPath().replace(".rule", suffix));
    }

    private static boolean made(File file) {
        try {
            return file.createNewFile();
        } catch (IOException unwritable) {
            throw new RuntimeException(unwritable);
        }
    }

    /** Records that a stopped thread has ended, for whatever reason. */
    private static class Watcher extends Thread {
        private final Thread watched;
        private final File over;

        Watcher(Thread watched, File over) {
            this.watched = watched;
            this.over = over;
            this.setDaemon(true);
        }

        public void run() {
            try {
                this.watched.join();
            } catch (InterruptedException shutdown) {
                return;
            }
            made(this.over);
        }
    }
}
